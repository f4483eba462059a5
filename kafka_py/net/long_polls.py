"""Requests of a connection that wait for something that may come, and could be answered without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

EndPoll = Callable[[], object]
"""Has the long poll answered at once."""


def end_oldest(long_polls: dict[int, EndPoll], head: int, loop: asyncio.AbstractEventLoop) -> None:
    """Ends the long poll in slot `head`, the oldest unanswered one, if that is one: the caller has an answer behind it.

    long_polls: slot -> what ends the poll. The poll is ended on the loop's next turn, not within this call.
    """
    end = long_polls.pop(head, None)
    if end is not None:
        loop.call_soon(end)
