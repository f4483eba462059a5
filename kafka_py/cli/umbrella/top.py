"""kafka-py top: brokers, topics and groups with their rates, live in the terminal; with --once or --output, printed.

The live view needs the package Rich (the extra `top`); what is printed needs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafka_py.cli.common.command import CommandFailed, UsageError, keep_quiet, require, run
from kafka_py.cli.common.connection_options import add_connection, admin_properties
from kafka_py.cli.common.documents import output_option, print_document
from kafka_py.cli.umbrella.options import UmbrellaParser

if TYPE_CHECKING:
    from kafka_py.cli.top_view.screen import Look
    from kafka_py.cli.top_view.tables import Subject
    from kafka_py.clients.admin.client import AsyncAdminClient
    from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot

SUBJECTS = ("brokers", "topics", "groups")
LEAST_INTERVAL_S = 0.1
MOST_ROWS = 1 << 30


def parser() -> UmbrellaParser:
    table = UmbrellaParser("top", "Shows brokers, topics and groups with their rates, live in the terminal.")
    add_connection(table)
    table.option("--show", "What is shown first.", choices=SUBJECTS, default="brokers")
    table.option("--interval", "Time between two looks.", metavar="Number: seconds", kind=float, default=2.0)
    table.flag("--once", "Look twice, an interval apart, print the table, and end.")
    output_option(table)
    return table


def look_with(admin: AsyncAdminClient) -> Look:
    """A look at all that is shown."""
    from kafka_py.operations.cluster_view.look import look_at
    from kafka_py.operations.cluster_view.snapshot import ViewPart

    parts = [ViewPart.TOPICS, ViewPart.LOG_DIRS, ViewPart.OFFSETS, ViewPart.GROUPS, ViewPart.COMMITTED]
    return lambda: look_at(admin, parts)


async def top(configs: dict[str, Any], show: str, interval_s: float, *, once: bool, form: str | None) -> None:
    """Runs until the user leaves, or prints once. Raises CommandFailed when no broker answers at first."""
    import asyncio

    from kafka_py.cli.top_view.keys import view_of
    from kafka_py.cli.top_view.tables import Subject
    from kafka_py.clients.admin.client import AsyncAdminClient

    async with AsyncAdminClient(configs) as admin:
        look = look_with(admin)
        if not once and form is None:
            from kafka_py.cli.top_view.screen import show as show_live

            await show_live(look, view_of(Subject(show)), interval_s)
            return
        before = await look()
        if not before.is_reached:
            raise CommandFailed(f"No broker of {configs['bootstrap.servers']} answers: {before.unseen[0]}")
        await asyncio.sleep(interval_s)
        print_once(await look(), before, Subject(show), form)


def print_once(now: ClusterSnapshot, before: ClusterSnapshot, subject: Subject, form: str | None) -> None:
    from kafka_py.cli.top_view.keys import FIRST_ORDERS
    from kafka_py.cli.top_view.tables import document_of, heading, table_of, text_of

    if form is not None:
        print_document(document_of(now, before), form)
        return
    print(heading(now))
    print()
    print("\n".join(text_of(table_of(subject, FIRST_ORDERS[subject], MOST_ROWS, now, before))))


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "bootstrap-server")
    if options.interval < LEAST_INTERVAL_S:
        raise UsageError(f"--interval must be at least {LEAST_INTERVAL_S} seconds")
    once = options.once or options.output is not None
    if not once:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise CommandFailed("The live view needs a terminal: --once prints the table, --output json a document.")
        try:
            import rich  # noqa: F401
        except ImportError:
            raise CommandFailed('The live view needs Rich: pip install "kafka_py[top]"; --once does without.') from None
    import asyncio

    keep_quiet()  # what fails is in the heading, not across the screen
    asyncio.run(top(admin_properties(options), options.show, options.interval, once=once, form=options.output))
    return 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
