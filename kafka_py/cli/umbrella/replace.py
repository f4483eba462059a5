"""kafka-py replace: brokers of Apache Kafka become kafka_py's one by one, and back, while clients are served.

    kafka-py replace --bootstrap-server host0:9092,host1:9092 --plan plan.toml --to kafka_py --check
    kafka-py replace --bootstrap-server host0:9092,host1:9092 --plan plan.toml --to kafka_py
    kafka-py replace --bootstrap-server host0:9092,host1:9092 --plan plan.toml --to apache

The plan has the commands that stop and start each broker of either make. Directories, ids and addresses stay. Where it
was interrupted or failed, the same command continues it, and the other `--to` turns it round.
"""

from __future__ import annotations

import argparse
import fcntl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_py.cli.common.command import CommandFailed, UsageError, keep_quiet, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.common.termination import EndSignals, Terminated
from kafka_py.cli.common.whole_files import replace_text
from kafka_py.cli.umbrella.options import UmbrellaParser
from kafka_py.operations.replacement.plan_file import MAKES

if TYPE_CHECKING:
    from kafka_py.operations.replacement.plan_file import BrokerCommands
    from kafka_py.operations.replacement.progress import ReplacementProgress
    from kafka_py.operations.replacement.replacement import Replacement


def parser() -> UmbrellaParser:
    table = UmbrellaParser("replace", "Replaces brokers of Apache Kafka by kafka_py's one by one, or back.")
    add_connection(table)
    table.option("--plan", "REQUIRED: TOML file with the commands for each broker.", metavar="String: file")
    table.option("--to", "REQUIRED: what the brokers become.", choices=MAKES)
    table.option("--state", "Where the progress is kept. Default: the plan's name with .progress.",
                 metavar="String: file")  # fmt: skip
    table.option("--timeout", "How long a broker may take to end, to start, and its replicas to be in sync.",
                 kind=float, metavar="Seconds", default=300.0)  # fmt: skip
    table.flag("--check", "Only says what is in the way. Exit code 1 if anything is.")
    table.flag("--allow-unavailable", "Begin although partitions with too few replicas are away meanwhile.")
    table.flag("--again", "Forget the progress that is kept: all brokers of the plan are of the other make.")
    return table


def read_plan(path: Path) -> list[BrokerCommands]:
    """Raises CommandFailed, ReplacementRefused."""
    from kafka_py.operations.replacement.plan_file import parse_plan

    try:
        return parse_plan(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"{path} cannot be read: {error}") from None


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """No other process replaces brokers by this plan meanwhile. Raises CommandFailed: two would stop two brokers."""
    with path.open() as plan:
        try:
            fcntl.flock(plan, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CommandFailed(f"{path}: another process replaces brokers by this plan; wait for its end") from None
        yield


def wrong_files(plan: Sequence[BrokerCommands], to: str) -> list[str]:
    """Errors in those server.properties of the new make that can be read here; as of `kafka-py check`."""
    if to != MAKES[1]:
        return []
    from kafka_py.cli.config_check.findings import Gravity
    from kafka_py.cli.umbrella.check import check_file

    found = []
    for broker in plan:
        config = broker.makes[to].config
        if config is not None:
            findings = check_file(Path(config), argparse.Namespace(kind="server", set=None))
            found += [each.shown(config) for each in findings if each.gravity is Gravity.ERROR]
    return found


async def shell(command: str) -> int:
    """Runs it to its end; its output is this command's."""
    import asyncio

    process = await asyncio.create_subprocess_shell(command, stdin=asyncio.subprocess.DEVNULL, start_new_session=True)
    return await process.wait()


def say(line: str) -> None:
    print(line, flush=True)


async def replace(options: argparse.Namespace, plan: list[BrokerCommands], signals: EndSignals) -> int:
    """Checks, and unless --check was given, replaces. Raises CommandFailed, ReplacementRefused, Terminated."""
    from kafka_py.clients.admin.client import AsyncAdminClient
    from kafka_py.operations.replacement.progress import as_text, directed, read_progress
    from kafka_py.operations.replacement.replacement import Interrupted, Replacement, ReplacementTools

    path = Path(options.state or f"{options.plan}.progress")
    stored = None if options.again else read_progress(path)
    progress = directed(stored, options.to, [broker.id for broker in plan])

    def keep(reached: ReplacementProgress) -> None:
        replace_text(path, as_text(reached))

    async with AsyncAdminClient(admin_properties(options)) as admin:
        tools = ReplacementTools(say, shell, keep, lambda: signals.came, time.monotonic)
        work = Replacement(admin, plan, tools, options.timeout)
        is_begun = progress.current is not None
        if options.check or not is_begun:
            in_the_way = await check(work, plan, options, is_begun=is_begun)
            if in_the_way or options.check:
                return 1 if in_the_way else 0
        if progress.done or is_begun:
            say(f"Continuing: {len(progress.done)} of {len(progress.makes)} brokers are {progress.to}")
        try:
            await work.run(progress)
        except Interrupted:
            left = ", ".join(map(str, progress.left(-1)))
            say(f"Interrupted: brokers {left} left; the same command continues")
            raise Terminated(signals.exit_code - 128) from None
    say(f"All brokers of the plan are {progress.to}")
    return 0


async def check(
    work: Replacement, plan: Sequence[BrokerCommands], options: argparse.Namespace, *, is_begun: bool
) -> bool:
    """Prints what is in the way; whether anything is. is_begun: brokers may be down, for a replacement is under way."""
    missing, settings, away = await work.obstacles()
    blocking = [*settings, *wrong_files(plan, options.to)]
    if missing and not is_begun:
        blocking.insert(0, missing)
    for line in blocking:
        say(f"in the way: {line}")
    for line in away:
        say(f"{'note' if options.allow_unavailable else 'in the way'}: {line}")
    if away and not options.allow_unavailable:
        say("--allow-unavailable begins all the same")
        return True
    if not blocking and options.check:
        say("Nothing is in the way.")
    return bool(blocking)


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "bootstrap-server", "plan", "to")
    if options.timeout <= 0:
        raise UsageError("--timeout must be above 0")
    import asyncio

    from kafka_py.operations.replacement.plan_file import ReplacementRefused

    keep_quiet()  # brokers that are down are what it is about
    try:
        plan = read_plan(Path(options.plan))
        with EndSignals() as signals, nullcontext() if options.check else only_one(Path(options.plan)):
            return asyncio.run(replace(options, plan, signals))
    except ReplacementRefused as error:
        raise CommandFailed(str(error)) from None


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
