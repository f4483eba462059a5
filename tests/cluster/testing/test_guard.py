"""What a test run leaves behind when it is killed: nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_py.testing.processes import ROOT, Process, wait_until

LIFE = """
import pathlib, sys, time
from kafka_py.testing import guard
from kafka_py.testing.processes import Process
for name in ("kept", "gone"):
    pathlib.Path(sys.argv[1], name).mkdir()
    guard.discard_with_us(pathlib.Path(sys.argv[1], name))
guard.forget_folder(pathlib.Path(sys.argv[1], "kept"))
process = Process(["sh", "-c", "sleep 600 & sleep 600"], pathlib.Path(sys.argv[1], "log")).start()
{then}
print(process.pid, flush=True)
{end}
"""
FORK = """
import os
if os.fork() == 0:
    time.sleep(600)
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def group_of(pid: int) -> list[int]:
    """The living members of its process group."""
    members = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getpgid(int(entry)) == pid and is_alive(int(entry)):
                members.append(int(entry))
        except OSError:
            continue
    return members


@pytest.mark.parametrize("fork", [False, True], ids=["alone", "with a fork that holds everything open"])
@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "end", "exit"])
def test_processes_and_folders_end_with_the_one_that_made_them(tmp_path: Path, end: str, fork: bool) -> None:
    last = {"end": "", "exit": "import os; os._exit(3)"}.get(end, "time.sleep(600)")
    program = LIFE.format(then=FORK if fork else "", end=last)
    life = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert life.stdout is not None
        started = int(life.stdout.readline())
        if end.startswith("SIG"):
            wait_until(lambda: len(group_of(started)) == 3, 10, "the start of the children")
            os.kill(life.pid, signal.Signals[end])
        life.wait(10)
        wait_until(lambda: not group_of(started), 10, "the end of what was started")
        wait_until(lambda: not (tmp_path / "gone").exists(), 10, "the end of the folder")
        assert (tmp_path / "kept").exists()
    finally:
        if group_of(life.pid):
            os.killpg(life.pid, signal.SIGKILL)
        assert life.stdout is not None
        life.stdout.close()


def test_a_later_process_with_the_same_id_is_spared(tmp_path: Path) -> None:
    """The guard knows processes by their id and the moment they were started."""
    bystander = Process(["sleep", "600"], tmp_path / "log").start()
    try:
        told = f"process {bystander.pid} 12345\n"
        program = [sys.executable, str(ROOT / "kafka_py" / "testing" / "guard.py"), str(os.getpid())]
        subprocess.run(program, input=told, text=True, timeout=10, check=True)
        assert bystander.running
    finally:
        bystander.kill()
