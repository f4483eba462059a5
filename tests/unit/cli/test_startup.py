"""Tools answer --help at once: nothing that is slow to load is loaded for it."""

import resource
import subprocess
import sys

import pytest

from kafka_py.cli.run_class import CLASSES
from kafka_py.cli.umbrella.tool_names import TOOLS

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


MOST_CPU_S = 0.3
STOPS = {"server-stop", "zookeeper-server-stop"}
"""Not run here: should they ever take --help for an order, they would stop the servers of others."""


@pytest.mark.parametrize("short", sorted(TOOLS.keys() - STOPS))
def test_help_of_a_script_takes_less_processor_time_than_anyone_notices(short):
    """User and system time of the process and all it becomes, the best of three: other work may evict its caches."""
    used = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        program = f"from kafka_py.cli.umbrella.tool_names import entry_of; entry_of({short!r})()"
        done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "usage" in (done.stdout + done.stderr).lower()
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if used[-1] < MOST_CPU_S:
            return
    raise AssertionError(f"{short}: {used}")
