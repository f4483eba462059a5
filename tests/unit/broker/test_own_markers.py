"""Markers of the coordinator for its own broker: the handler is called, and what it says is the response."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.meters import MetricRegistry
from kafka_py.broker import own_markers
from kafka_py.broker.observe.metrics import AllRequestMetrics
from kafka_py.broker.own_markers import OwnMarkers
from kafka_py.broker.requests.request_context import ANSWERS_LATER
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

RESPONSE = WriteTxnMarkersResponse(markers=[])


def connection(monkeypatch: pytest.MonkeyPatch, handle: Any) -> OwnMarkers:
    monkeypatch.setattr(own_markers, "handle", handle)
    node: Any = SimpleNamespace(request_metrics=AllRequestMetrics(MetricRegistry(virtual_clock())))
    return OwnMarkers(node)


async def _in_turns(context: Any) -> object:
    await asyncio.sleep(1)
    context.answer(RESPONSE)
    return ANSWERS_LATER


def _at_once(context: Any) -> object:
    context.answer(RESPONSE)
    return ANSWERS_LATER


def _later(context: Any) -> object:
    asyncio.get_running_loop().call_later(1, context.answer, RESPONSE)
    return ANSWERS_LATER


@pytest.mark.parametrize("work", [_at_once, _later, _in_turns])
def test_the_response_is_what_the_handler_answers(work: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        own = connection(monkeypatch, lambda _node, context, _request: work(context))
        assert await own.send(WriteTxnMarkersRequest(markers=[]), 1) is RESPONSE
        assert own._metrics.version(1).requests == 1
        own.close()

    run_virtual(run())


def test_the_handler_has_a_turn_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The markers of a large transaction take one; the request that ended it has just had another."""

    async def run() -> None:
        begun: list[object] = []

        def handle(_node: object, context: Any, _request: object) -> object:
            begun.append(context)
            return _at_once(context)

        sending = asyncio.create_task(connection(monkeypatch, handle).send(WriteTxnMarkersRequest(markers=[]), 1))
        await asyncio.sleep(0)
        assert not begun
        assert await sending is RESPONSE

    run_virtual(run())


def test_an_answer_that_nobody_waits_for_any_longer_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        contexts: list[Any] = []

        def keep(_node: object, context: Any, _request: object) -> object:
            contexts.append(context)
            return ANSWERS_LATER

        own = connection(monkeypatch, keep)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await own.send(WriteTxnMarkersRequest(markers=[]), 1)
        contexts[0].answer(RESPONSE)

    run_virtual(run())


def test_an_exception_of_the_handler_is_the_sender_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> object:
        raise ValueError("no marker")

    async def run() -> None:
        with pytest.raises(ValueError, match="no marker"):
            await connection(monkeypatch, fail).send(WriteTxnMarkersRequest(markers=[]), 1)

    run_virtual(run())
