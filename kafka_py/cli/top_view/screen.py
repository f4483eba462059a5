"""The terminal of `kafka-py top`: drawn with Rich, keys read as they are pressed, and as it was at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
import tty
from collections.abc import Awaitable, Callable, Iterator

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kafka_py.cli.top_view.keys import HELP, TopView, pressed
from kafka_py.cli.top_view.tables import ShownTable, heading, table_of
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot

Look = Callable[[], Awaitable[ClusterSnapshot]]
_LINES_AROUND = 6
"""Of the screen: heading, titles, rules and help."""


def drawn(table: ShownTable, title: str) -> Group:
    """The whole screen. Names are text, never markup."""
    shown = Table(expand=True, box=None, header_style="bold")
    for number, column in enumerate(table.columns):
        mark = " v" if number == table.order else ""
        shown.add_column(Text(column.title + mark), justify="right" if column.is_number else "left", no_wrap=True)
    for row in table.rows:
        shown.add_row(*map(Text, row))
    rest = table.all_rows - len(table.rows)
    more = Text(f"... and {rest} more" if rest else "")
    return Group(Text(title, style="bold"), Text(""), shown, more, Text(HELP, style="dim"))


@contextlib.contextmanager
def keys_of(descriptor: int) -> Iterator[asyncio.Queue[str]]:
    """The keys that are pressed, as they come; the terminal is as before at the end."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)

    def take() -> None:
        data = os.read(descriptor, 64)
        for key in data.decode(errors="replace") or "\x04":  # nothing to read: the terminal is gone
            queue.put_nowait(key)

    loop.add_reader(descriptor, take)
    try:
        yield queue
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


async def show(look: Look, view: TopView, interval_s: float) -> None:
    """Looks and draws until the user leaves. A look that takes long delays the next one, no key."""
    console = Console()
    now, before = await look(), None
    with keys_of(sys.stdin.fileno()) as keys, Live(console=console, screen=True, auto_refresh=False) as live:
        next_look: asyncio.Task[ClusterSnapshot] | None = None
        next_key = asyncio.ensure_future(keys.get())
        due_s = asyncio.get_running_loop().time() + interval_s
        try:
            while not view.is_over:
                most = max(console.size.height - _LINES_AROUND, 1)
                live.update(drawn(table_of(view.subject, view.order, most, now, before), heading(now)), refresh=True)
                left_s = due_s - asyncio.get_running_loop().time()
                if next_look is None and (left_s <= 0 or view.wants_look):
                    next_look = asyncio.ensure_future(look())
                    view = view._replace(wants_look=False)
                waiting = {next_key} if next_look is None else {next_key, next_look}
                await asyncio.wait(
                    waiting, timeout=max(left_s, 0) if next_look is None else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )  # fmt: skip
                if next_look is not None and next_look.done():
                    now, before = next_look.result(), now
                    next_look, due_s = None, asyncio.get_running_loop().time() + interval_s
                if next_key.done():
                    view = pressed(view, next_key.result())
                    next_key = asyncio.ensure_future(keys.get())
        finally:
            for task in (next_key, next_look):
                if task is not None:
                    task.cancel()
