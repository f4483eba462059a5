"""The project's pytest settings end a test that hangs, also one whose event loop is busy."""

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[3]
DEADLINE_S = 60

BUSY = """
import asyncio

def test_busy():
    loop = asyncio.new_event_loop()

    def post_again():
        loop.call_soon(post_again)

    post_again()
    loop.run_forever()
"""


def test_a_busy_event_loop_is_ended(tmp_path):
    test = tmp_path / "test_busy.py"
    test.write_text(BUSY)
    command = [sys.executable, "-m", "pytest", "-c", PROJECT / "pyproject.toml", "--timeout", "1", test]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, cwd=PROJECT)
    assert ended.returncode != 0
    assert "Timeout" in ended.stdout + ended.stderr
    assert "run_forever" in ended.stdout + ended.stderr
