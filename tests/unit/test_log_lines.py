"""Log lines are for people: what goes into them is text, numbers and names, never Python's view of a container.

Looks at every call of a logger in the package: a container among the arguments is printed with its brackets, quotes and
type names (`dict_keys([])`, `[TopicPartition(topic='t', partition=0)]`); `base.texts.listed` joins it instead.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.base.texts import listed, paired

PACKAGE = Path(__file__).resolve().parents[2] / "kafka_py"
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
CONTAINERS = (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp, ast.Tuple, ast.GeneratorExp)
MAKERS = {"sorted", "list", "set", "tuple", "dict", "frozenset", "keys", "values", "items", "vars", "asdict", "repr"}


def calls_of_loggers(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LEVELS:
            owner = node.func.value
            name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
            if name.lstrip("_") in ("log", "logger"):
                yield node


def is_container(argument: ast.expr) -> bool:
    if isinstance(argument, CONTAINERS):
        return True
    if isinstance(argument, ast.BinOp):
        return is_container(argument.left) or is_container(argument.right)
    if isinstance(argument, ast.Call):
        function = argument.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in MAKERS
    return False


@pytest.mark.parametrize("package", sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()))
def test_no_log_line_prints_a_container(package: str) -> None:
    found = []
    for path in sorted((PACKAGE / package).rglob("*.py")):
        for call in calls_of_loggers(ast.parse(path.read_text())):
            if any(is_container(argument) for argument in call.args[1:]):
                found.append(f"{path.relative_to(PACKAGE.parent)}:{call.lineno}: {ast.unparse(call)}")
    assert found == []


def test_what_is_printed_instead() -> None:
    assert listed([]) == "none"
    assert listed([3, "b", ("t", 0)]) == "3, b, ('t', 0)"
    assert paired({"a": "1", "b": 2}) == "a=1, b=2"
    assert paired({}) == "none"
