"""Requests that are decoded in turns: one at a time, in the order in which they came."""

import asyncio
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

from kafka_py.broker.requests.large_requests import LargeRequests
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.primitives import MalformedMessage


class Requests:
    """Large requests, what was decoded of them step by step, and how each ended."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.large = LargeRequests(self.clock)
        self.steps: list[str] = []
        self.ends: list[str] = []
        self._tasks: list[asyncio.Future[None]] = []

    def begin(self, name: str, *, fails: bool = False) -> Any:
        """Returns its connection."""
        connection = SimpleNamespace(closed=False)
        work = self.large.decode(
            connection,  # type: ignore[arg-type]
            self._decoding(name, fails=fails),
            lambda request: self.ends.append(f"{request} served"),
            lambda error: self.ends.append(str(error)),
        )
        self._tasks.append(asyncio.ensure_future(work))
        return connection

    def _decoding(self, name: str, *, fails: bool) -> Generator[None, None, tuple[str, int]]:
        for _ in range(3):
            self.steps.append(name)
            self.clock.advance(100)
            yield
        if fails:
            raise MalformedMessage(f"{name} is malformed")
        return name, 0

    async def end(self) -> None:
        async with asyncio.timeout(10):
            await asyncio.gather(*self._tasks)


def test_one_is_decoded_after_the_other_and_a_malformed_one_keeps_nobody_up() -> None:
    """Many at once would take the loop for as many turns each time round."""

    async def scenario() -> None:
        requests = Requests()
        requests.begin("a")
        requests.begin("b", fails=True)
        requests.begin("c")
        await requests.end()
        assert "".join(requests.steps) == "aaabbbccc"
        assert sorted(requests.ends) == ["a served", "b is malformed", "c served"]

    asyncio.run(scenario())


def test_nobody_decodes_what_nobody_waits_for() -> None:
    async def scenario() -> None:
        requests = Requests()
        requests.begin("a")
        requests.begin("b").closed = True
        requests.begin("c")
        await requests.end()
        assert "".join(requests.steps) == "aaaccc"
        assert requests.ends == ["a served", "c served"]

    asyncio.run(scenario())
