"""zookeeper-server-stop.sh: sends SIGNAL (TERM unless set) to every ZooKeeper server on this machine.

Does not wait. A server is a java process with the server's main class among its arguments, or one of ours that is
about to become it; what only mentions the class (an editor, a grep) is not.
Source: docs/reference/tools.md, section 23.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from kafka_py.cli.common.command import UsageError, run
from kafka_py.cli.java_compat.java import MAIN_CLASS

_OWN_MODULES = ("kafka_py.cli.run_class", "kafka_py.cli.zookeeper_server_start")


def is_server(arguments: Sequence[str]) -> bool:
    """Whether a process with these arguments is a ZooKeeper server."""
    if not arguments:
        return False
    program = os.path.basename(arguments[0])
    if program == "java":
        # A class name that comes after the main class, or as the value of an option, is some program's own argument.
        return _main_class(arguments[1:]) == MAIN_CLASS
    if program.startswith("python") and "-m" in arguments:
        module, *rest = arguments[arguments.index("-m") + 1 :] or [""]
        return module == _OWN_MODULES[1] or (module == _OWN_MODULES[0] and rest[:1] == [MAIN_CLASS])
    return False


def _main_class(arguments: Sequence[str]) -> str | None:
    """The first argument of a java command line that is neither an option nor an option's value."""
    words = iter(arguments)
    for word in words:
        if word in ("-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"):
            next(words, None)
        elif not word.startswith(("-", "@")):
            return word
    return None


def processes_with(is_wanted: Callable[[Sequence[str]], bool]) -> Iterator[int]:
    """The ids of the processes on this machine whose arguments are those of the server that is looked for."""
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            arguments = Path("/proc", entry, "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
        except OSError:
            continue
        if is_wanted(arguments):
            yield int(entry)


def signal_number(name: str) -> int:
    """TERM, SIGTERM or 15. Raises UsageError."""
    if name.isdigit():
        return int(name)
    try:
        return signal.Signals["SIG" + name.upper().removeprefix("SIG")]
    except KeyError:
        raise UsageError(f"SIGNAL={name} is not the name of a signal") from None


def servers() -> Iterator[int]:
    """The process ids of the servers on this machine."""
    return processes_with(is_server)


USAGE = "USAGE: [SIGNAL=name] zookeeper-server-stop.sh"


def main(arguments: Sequence[str]) -> int:
    if set(arguments) & {"--help", "-h"}:  # other arguments are ignored, as by Apache Kafka's script
        print(USAGE, file=sys.stderr)
        return 1
    return signal_processes(servers(), "No zookeeper server to stop")


def signal_processes(processes: Iterable[int], none: str) -> int:
    """Sends them the signal that SIGNAL names; the exit code. none: what is printed if there are none."""
    number = signal_number(os.environ.get("SIGNAL") or "TERM")
    found = list(processes)
    if not found:
        print(none)
        return 1
    code = 0
    for process in found:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue
        except PermissionError:
            print(f"Not permitted to stop process {process}", file=sys.stderr)
            code = 1
    return code


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
