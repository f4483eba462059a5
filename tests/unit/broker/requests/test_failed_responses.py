"""A response that cannot be given closes its connection, whoever gives it, and is nobody else's failure."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.observe.metrics import AllRequestMetrics
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.requests.dispatch import Dispatcher
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.principal import ANONYMOUS
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.testing.clock import BusyClock, ManualClock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

SMALL, LARGE = 1, 5000


class World:
    """A dispatcher, and a connection whose responses fail. closed: the reasons, in order."""

    def __init__(self) -> None:
        self.node = SimpleNamespace(authorizer=ALLOW_ALL, clock=BusyClock())
        self.dispatcher = Dispatcher(cast(Any, self.node), AllRequestMetrics(MetricRegistry(ManualClock())))
        self.closed: list[str] = []
        self.tried = 0
        self.client = SimpleNamespace(
            listener_name="PLAINTEXT", security_protocol=SecurityProtocol.PLAINTEXT, peer_host="127.0.0.1",
            peer_port=4711, principal=ANONYMOUS, closed=False, read_s=0.0, respond=self.respond, mute=lambda: None,
            unmute=lambda: None, close=self.closed.append,
        )  # fmt: skip

    def respond(self, *_: object) -> None:
        self.tried += 1
        raise RuntimeError("planted")

    def ask(self, topics: int, handle: Callable[[RequestContext], Any]) -> None:
        self.dispatcher._services[int(ApiKey.METADATA)].handle = lambda _node, context, _request: handle(context)
        request = MetadataRequest(topics=[MetadataRequestTopic(name=f"t{number}") for number in range(topics)])
        frame = bytearray(encode_request(request, 9, 77, "client")[4:])
        self.dispatcher.on_request(cast(Any, self.client), 0, frame)

    async def settle(self) -> None:
        """Until all tasks have ended; their errors are the test's."""
        while self.dispatcher._tasks:
            await asyncio.gather(*self.dispatcher._tasks)


def answer(topics: int) -> MetadataResponse:
    rows = [MetadataResponseTopic(error_code=0, name=f"t{n}", is_internal=False, partitions=[]) for n in range(topics)]
    return MetadataResponse(brokers=[], cluster_id="c", controller_id=0, topics=rows)


async def late(topics: int) -> MetadataResponse:
    await asyncio.sleep(0)
    return answer(topics)


async def failing_late(error: Exception) -> MetadataResponse:
    await asyncio.sleep(0)
    raise error


def failing(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("topics", "handle"),
    [
        pytest.param(SMALL, lambda _: answer(SMALL), id="at once"),
        pytest.param(SMALL, lambda _: answer(LARGE), id="encoded in turns"),
        pytest.param(LARGE, lambda _: answer(SMALL), id="to a large request"),
        pytest.param(LARGE, lambda _: answer(LARGE), id="to a large request, encoded in turns"),
        pytest.param(SMALL, lambda _: late(SMALL), id="late"),
        pytest.param(SMALL, lambda _: late(LARGE), id="late, encoded in turns"),
        pytest.param(SMALL, lambda _: failing(KafkaError(ErrorCode.INVALID_REQUEST)), id="an error"),
        pytest.param(SMALL, lambda _: failing_late(KafkaError(ErrorCode.INVALID_REQUEST)), id="a late error"),
        pytest.param(SMALL, lambda _: failing_late(ZeroDivisionError()), id="a late error that is not foreseen"),
        pytest.param(LARGE, lambda _: failing(KafkaError(ErrorCode.INVALID_REQUEST)), id="an error, made in turns"),
    ],
)
def test_a_response_that_fails_closes_its_connection(
    topics: int, handle: Callable[[RequestContext], Any], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        world = World()
        world.ask(topics, handle)
        await world.settle()
        assert (world.tried, world.closed) == (1, ["internal error"])

    asyncio.run(main())
    assert "Metadata v9: its response failed" in caplog.messages


def test_who_gives_a_response_for_somebody_else_goes_on_when_it_fails() -> None:
    """An append may complete the waits of many others; the failure of one is no failure of the append."""
    parked: list[RequestContext] = []

    def park(context: RequestContext) -> Any:
        parked.append(context)
        return ANSWERS_LATER

    world = World()
    world.ask(SMALL, park)
    parked[0].answer(answer(SMALL))
    assert (world.tried, world.closed) == (1, ["internal error"])


def test_a_response_that_quotas_send_themselves_closes_its_connection_as_well() -> None:
    """They charge a fetch before it is read, and send its response without another charge."""
    parked: list[RequestContext] = []

    async def main() -> None:
        world = World()
        world.ask(SMALL, lambda context: parked.append(context) or ANSWERS_LATER)  # type: ignore[func-returns-value]
        world.dispatcher.throttle(cast(Any, ClientQuotas(BrokerConfig.parse({"zookeeper.connect": "z"}))), later)
        assert world.dispatcher._throttling is not None
        world.dispatcher._throttling.send(parked[0], answer(SMALL), None)
        assert (world.tried, world.closed) == (1, ["internal error"])

    def later(*_: object) -> Any:
        raise AssertionError("nothing is throttled")

    asyncio.run(main())


def test_a_handler_that_has_given_its_response_while_it_waited_gives_no_second_one() -> None:
    async def answering(context: RequestContext) -> Any:
        await asyncio.sleep(0)
        context.answer(answer(SMALL))
        return ANSWERS_LATER

    async def main() -> None:
        world = World()
        world.ask(SMALL, answering)
        await world.settle()
        assert (world.tried, world.closed) == (1, ["internal error"])

    asyncio.run(main())


def test_an_error_that_is_not_foreseen_is_answered_after_a_wait_too() -> None:
    sent: list[object] = []

    async def main() -> None:
        world = World()
        world.client.respond = lambda _slot, parts, _note: sent.append(parts)
        world.ask(SMALL, lambda _: failing_late(ZeroDivisionError()))
        await world.settle()
        assert world.closed == []

    asyncio.run(main())
    assert len(sent) == 1
