"""Tools answer --help at once: nothing that is slow to load is loaded for it."""

import subprocess
import sys

import pytest

from kafka_py.cli.run_class import CLASSES

SLOW = ("asyncio", "kazoo", "kafka_py.clients", "kafka_py.log", "kafka_py.records", "kafka_py.broker", "matplotlib")
"""Packages that --help has no use for."""

CODE = f"""
import contextlib, io, runpy, sys
sys.argv = ["x", sys.argv[1], "--help"]
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
    with contextlib.suppress(SystemExit):
        runpy.run_module("kafka_py.cli.run_class", run_name="__main__")
assert "usage" in out.getvalue().lower(), out.getvalue()
print([name for name in sys.modules if name.startswith({SLOW!r})])
"""

SERVERS_AND_SHELLS = ("server_start", "zookeeper_server_start", "zookeeper_shell")
MODULES = {module: name for name, module in CLASSES.items() if module not in SERVERS_AND_SHELLS}


@pytest.mark.parametrize("main_class", MODULES.values(), ids=MODULES)
def test_help_loads_nothing_slow(main_class):
    done = subprocess.run([sys.executable, "-c", CODE, main_class], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
