"""kafka-py: one command for everything: a cluster on this machine, and every tool by its short name.

    kafka-py up --brokers 3 --detach
    kafka-py topics --bootstrap-server localhost:9092 --list
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import kafka_py
from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.umbrella.profiles import settings_for, take_name, with_settings
from kafka_py.cli.umbrella.tool_names import TOOLS, ToolConnection, entry_of

COMMANDS = {
    "up": "starts a cluster on this machine: a real ZooKeeper and brokers",
    "down": "stops it",
    "status": "what runs of it, and whether all replicas are in sync",
    "logs": "what its processes write",
    "roll": "restarts its brokers one by one, with all replicas in sync in between",
    "web": "serves the web manager, for clusters on any machine",
    "check": "what is wrong with a file of settings, of brokers, clients and pipelines",
    "top": "brokers, topics and groups with their rates, live in the terminal",
    "exporter": "a cluster for Prometheus: offsets, replicas, groups and their lag",
    "doctor": "what is wrong with a cluster or with the way to it, and what repairs it",
    "replace": "replaces brokers of Apache Kafka by kafka_py's one by one, or back",
    "rebalance": "spreads partitions over brokers, in throttled steps",
    "bundle": "logs, settings without secrets, metrics and states in one archive",
    "dashboards": "dashboards for Grafana and alert rules for Prometheus, as files",
}
"""Modules in umbrella/, and what they are for."""

OF_A_CLUSTER = dict.fromkeys(
    ("doctor", "bundle", "exporter", "rebalance", "replace", "top"), ToolConnection(is_bare=True)
)
"""Commands that get the settings of a profile, as tools do."""

FOR_SHELLS = {"completion": "kafka_py.cli.completion", "names": "kafka_py.cli.umbrella.names"}
"""`kafka-py completion bash|zsh` prints a script, which calls `kafka-py names`; the modules."""


def usage() -> str:
    """The text of --help."""
    width = max(map(len, [*COMMANDS, *TOOLS])) + 2
    own = "\n".join(f"  {name:<{width}}{about}" for name, about in COMMANDS.items())
    tools = "\n".join(f"  {name:<{width}}{tool.about}" for name, tool in TOOLS.items())
    return (
        f"usage: kafka-py [--profile NAME] COMMAND [ARGUMENT ...]\n\nA cluster on this machine:\n{own}\n\n"
        f"Tools, with the options of the scripts (kafka-topics.sh is `kafka-py topics`):\n{tools}\n\n"
        "`kafka-py COMMAND --help` explains a command; `source <(kafka-py completion bash)`, or zsh, completes them."
    )


def cli() -> None:
    """The process."""
    run(main)


def main(arguments: Sequence[str]) -> int:
    """Becomes the command that the first argument names. Raises CommandFailed."""
    profile, words = (None, list(arguments)) if arguments[:1] == ["names"] else take_name(arguments)
    name, *rest = words or ["--help"]
    if name in ("--help", "-h", "help"):
        print(usage())
    elif name == "--version":
        print(f"kafka_py {kafka_py.__version__} (Kafka {kafka_py.KAFKA_VERSION})")
    elif name in COMMANDS:
        if name in OF_A_CLUSTER:
            rest = with_settings(rest, OF_A_CLUSTER[name], settings_for(profile, os.environ))
        sys.argv = [f"kafka-py {name}", *rest]
        importlib.import_module(f"kafka_py.cli.umbrella.{name}").cli()
    elif name in FOR_SHELLS:
        sys.argv = [f"kafka-py {name}", *words[1:]]
        importlib.import_module(FOR_SHELLS[name]).cli()
    elif (short := _short(name)) in TOOLS:
        connection = TOOLS[short].connection
        if connection is not None:
            rest = with_settings(rest, connection, settings_for(profile, os.environ))
        sys.argv = [f"kafka-py {short}", *rest]
        entry_of(short)()
    else:
        from difflib import get_close_matches

        near = get_close_matches(name, [*COMMANDS, *TOOLS], n=1)
        hint = f"did you mean {near[0]}?" if near else "kafka-py --help lists them"
        raise CommandFailed(f"kafka-py has no command {name}: {hint}")
    return 0


def _short(name: str) -> str:
    """A tool may be given by the name of its script as well."""
    return name.removesuffix(".sh").removeprefix("kafka-")


if __name__ == "__main__":
    cli()
