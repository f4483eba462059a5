"""kafka-py roll: restarts a cluster broker by broker, for new settings or a new version, without losing a partition."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.common.termination import EndSignals, Terminated
from kafka_py.cli.local_cluster import layout, state
from kafka_py.cli.local_cluster.rolling import (
    FILE,
    Roll,
    check_chosen,
    controller_of,
    new_plan,
    read_plan,
    write_plan,
)
from kafka_py.cli.local_cluster.starting import Starter
from kafka_py.cli.umbrella.options import UmbrellaParser, folder_of


def parser() -> UmbrellaParser:
    table = UmbrellaParser("roll", "Restarts the brokers of a cluster one by one, each when all replicas are in sync.")
    table.data_option()
    table.option("--brokers", "Only these, by id: 0,2.", metavar="Integers")
    table.option("--timeout", "How long a broker may take to start, and its replicas to be in sync.", kind=float,
                 metavar="Seconds", default=120.0)  # fmt: skip
    table.flag("--again", "Begin again instead of continuing a roll that was interrupted.")
    return table


def numbers(text: str | None) -> list[int]:
    """The ids of --brokers. Raises CommandFailed."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    for word in words:
        if not word.isdigit():
            raise CommandFailed(f"--brokers takes ids such as 0,2, not {text!r}")
    return sorted(map(int, words))


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    folder = folder_of(options)
    cluster = layout.read_existing(folder)
    chosen = numbers(options.brokers)
    check_chosen(cluster, chosen)

    def say(line: str) -> None:
        print(line, flush=True)

    with EndSignals() as signals, state.exclusively(folder):
        if not state.running(folder):
            write_plan(folder, None)
            raise CommandFailed(f"Nothing runs in {folder}: kafka-py up starts it")
        stored = None if options.again else read_plan(folder)
        if stored is not None and chosen:
            raise CommandFailed(f"A roll was interrupted ({folder / FILE}): leave --brokers out, or add --again")
        if stored is not None:
            say(f"Continuing: {', '.join(stored.done) or 'none'} done")
        plan = stored or new_plan(cluster, controller_of(cluster, layout.connections_to(folder, cluster)), chosen)
        try:
            Roll(folder, cluster, Starter(folder, cluster, os.environ), say).run(plan, signals, options.timeout)
        except Terminated:
            say(f"Interrupted: {', '.join(plan.left)} left, kafka-py roll continues")
            raise
    say(f"{len(plan.order)} broker{'s' if len(plan.order) > 1 else ''} restarted")
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
