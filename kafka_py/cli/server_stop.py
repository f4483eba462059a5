"""kafka-server-stop.sh: sends SIGNAL (TERM unless set) to every broker process on this machine; does not wait for it.

A broker is a process whose own arguments run kafka_py's broker, whatever its working directory or the length of its
command line; processes that only mention it (editors, greps, shells) are not.
Source: docs/reference/tools.md, section 22.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kafka_py.cli.common.command import run
from kafka_py.cli.zookeeper_server_stop import processes_with, signal_processes

_RUN_CLASS = "kafka_py.cli.run_class"
_MODULE = "kafka_py.cli.server_start"


def is_broker(arguments: Sequence[str]) -> bool:
    """Whether a process with these arguments is a broker."""
    if not arguments or not os.path.basename(arguments[0]).startswith("python") or "-m" not in arguments:
        return False
    module, *rest = arguments[arguments.index("-m") + 1 :] or [""]
    return module == _MODULE or (module == _RUN_CLASS and rest[:1] in (["kafka.Kafka"], [_MODULE]))


USAGE = "USAGE: [SIGNAL=name] kafka-server-stop.sh"


def main(arguments: Sequence[str]) -> int:
    if set(arguments) & {"--help", "-h"}:  # other arguments are ignored, as by Apache Kafka's script
        print(USAGE, file=sys.stderr)
        return 1
    return signal_processes(processes_with(is_broker), "No kafka server to stop")


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
