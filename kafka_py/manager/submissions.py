"""A form that is sent twice makes its change once: the second one waits for the first, and gets the same answer.

Each form bears a number that was drawn when it was shown. What came of the latest numbers is kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

MOST_KEPT = 1_000

T = TypeVar("T")


class Submissions(Generic[T]):
    """Outcomes of submitted forms, by (owner, number)."""

    def __init__(self) -> None:
        self._outcomes: OrderedDict[tuple[str, str], asyncio.Future[T]] = OrderedDict()

    async def once(self, owner: str, number: str, work: Callable[[], Awaitable[T]]) -> T:
        """What came of the work, which is done by the first call only. Raises what the work raised, in every call."""
        key = (owner, number)
        known = self._outcomes.get(key)
        if known is not None:
            return await asyncio.shield(known)
        outcome: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._outcomes[key] = outcome
        self._forget_some()
        try:
            outcome.set_result(await work())
        except BaseException as error:
            self._outcomes.pop(key, None)  # a failed change may be tried again with the same form
            if isinstance(error, Exception):
                outcome.set_exception(error)
                outcome.exception()  # it is raised here; nobody else may be waiting
            else:
                outcome.cancel()
            raise
        return outcome.result()

    def _forget_some(self) -> None:
        while len(self._outcomes) > MOST_KEPT:
            self._outcomes.popitem(last=False)
