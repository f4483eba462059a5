"""What is kept of requests for the request log and for traces."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.broker.observe.exchanges import Exchanges
from kafka_py.broker.settings.loggers import REQUESTS
from kafka_py.wire.messages.metadata import MetadataRequest

MOMENTS = (1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 80)


class EverySecond:
    """Traces every second request."""

    def __init__(self) -> None:
        self.begun = 0
        self.finished: list[Any] = []
        self.noted: list[tuple[Any, int]] = []

    def begin(self, request: Any) -> Any:
        self.begun += 1
        return None if self.begun % 2 else self

    def note_response(self, response: Any, size_bytes: int) -> None:
        self.noted.append((response, size_bytes))

    def finish(self, traced: Any, context: Any, moments: Any) -> None:
        assert traced is self and moments is MOMENTS
        self.finished.append(context)


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger(REQUESTS)
    before = logger.level
    logger.setLevel(logging.WARNING)
    yield logger
    logger.setLevel(before)


def test_nothing_is_on_at_first(logger: logging.Logger) -> None:
    assert not Exchanges().is_on


def test_a_traced_request_is_not_kept_itself(logger: logging.Logger) -> None:
    exchanges, tracing = Exchanges(), EverySecond()
    exchanges.trace_with(tracing)
    assert exchanges.is_on
    assert exchanges.begin(MetadataRequest(topics=None)) is None
    exchange = exchanges.begin(MetadataRequest(topics=None))
    assert exchange is not None and not exchange.is_logged and exchange.request is None
    response: Any = object()
    exchange.note_response(response, [b"123", b"45"])
    assert exchange.response is None and tracing.noted == [(response, 5)]
    context: Any = object()
    exchanges.finish(context, exchange, MOMENTS)
    assert tracing.finished == [context]
    exchanges.trace_with(None)
    assert not exchanges.is_on


def test_the_request_log_and_traces_are_switched_on_and_off_by_themselves(logger: logging.Logger) -> None:
    exchanges = Exchanges()
    logger.setLevel(logging.DEBUG)
    exchanges.look_again()
    assert exchanges.is_on
    request = MetadataRequest(topics=None)
    exchange = exchanges.begin(request)
    assert exchange is not None and exchange.is_logged and exchange.request is request and exchange.traced is None
    exchange.note_response(None, None)
    exchanges.trace_with(EverySecond())
    logger.setLevel(logging.WARNING)
    exchanges.look_again()
    assert exchanges.is_on
    exchanges.trace_with(None)
    assert not exchanges.is_on
