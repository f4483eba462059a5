"""What `from kafka_py.clients import ...` gives, and what it costs."""

import ast
import inspect
import subprocess
import sys

import pytest

from kafka_py import clients


@pytest.mark.parametrize("name", clients.__all__)
def test_every_exported_name_is_what_its_module_defines(name):
    value = getattr(clients, name)
    home = clients._HOME_OF[name]
    assert value is getattr(sys.modules[f"kafka_py.{home}"], name)


def test_the_table_and_the_typed_imports_name_the_same():
    tree = ast.parse(inspect.getsource(clients))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {alias.name: node.module for node in block.body for alias in node.names}
    assert typed == {name: f"kafka_py.{home}" for name, home in clients._HOME_OF.items()}
    assert sorted(typed) == sorted(clients.__all__) == dir(clients)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        clients.Nothing  # noqa: B018


def test_one_client_does_not_load_the_others():
    code = (
        "import sys; from kafka_py.clients import AdminClient; "
        "print([name for name in sys.modules if name.startswith(('kafka_py.clients.producer', 'kafka_py.records'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
