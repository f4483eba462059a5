"""Brokers that hang or are gone cost a look their time once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.operations.cluster_view.asking import LookLimits, LookRequests, first_answer


@pytest.mark.parametrize(("code", "asked"), [(ErrorCode.NETWORK_EXCEPTION, 1), (ErrorCode.UNKNOWN_SERVER_ERROR, 2)])
def test_a_broker_that_is_gone_is_not_asked_again(code: ErrorCode, asked: int) -> None:
    calls = 0

    async def fail() -> None:
        nonlocal calls
        calls += 1
        raise KafkaError(code)

    async def run() -> None:
        requests = LookRequests(SimpleNamespace(), LookLimits())  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(KafkaError):
                await requests.call(1, fail)
        assert await requests.call(2, lambda: asyncio.sleep(0, "others are")) == "others are"

    asyncio.run(run())
    assert calls == asked


class PartlyHanging:
    """A cluster whose preferred broker does not answer."""

    view = SimpleNamespace(nodes=[1, 2, 3])

    def __init__(self, *answering: int) -> None:
        self._answering = answering

    async def send_any(self, request: Any, *, timeout_ms: float) -> str:
        return await self.send(0, request, timeout_ms=timeout_ms)

    async def send(self, broker: int, _request: Any, *, timeout_ms: float) -> str:
        if broker not in self._answering:
            await asyncio.sleep(timeout_ms / 1000)
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"broker {broker}")
        return f"of broker {broker}"


def test_brokers_are_asked_one_after_the_other_until_one_answers() -> None:
    assert asyncio.run(first_answer(PartlyHanging(3), None, 50.0)) == "of broker 3"  # type: ignore[arg-type]
    with pytest.raises(KafkaError):
        asyncio.run(first_answer(PartlyHanging(), None, 5.0))  # type: ignore[arg-type]
