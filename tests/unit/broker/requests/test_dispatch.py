"""The way of a request: what is answered, what ends the connection, what makes a task."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.observe.metrics import AllRequestMetrics
from kafka_py.broker.requests import dispatch
from kafka_py.broker.requests.dispatch import Dispatcher
from kafka_py.broker.requests.request_context import ANSWERS_LATER, EncodedResponse, RequestContext
from kafka_py.broker.requests.routes import ROUTES, Route
from kafka_py.broker.requests.service import DONE_IN_ORDER, ApiService
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.security.acls.vocabulary import Operation
from kafka_py.testing.clock import BusyClock, ManualClock
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.frames import decode_response, encode_request, encode_response
from kafka_py.wire.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from kafka_py.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest
from kafka_py.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kafka_py.zk.session import AuthFailed, ConnectionLoss, SessionExpired, ZkError

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")


class Client:
    """A connection that keeps its answers."""

    listener_name = "PLAINTEXT"
    security_protocol = SecurityProtocol.PLAINTEXT
    peer_host = "127.0.0.1"
    peer_port = 4711
    principal = ANONYMOUS
    read_s = 0.0
    dispatcher: Dispatcher

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}
        self.closed: str | None = None
        self.mutes = 0
        self.answered = asyncio.Event()

    def respond(self, slot: int, parts: Any, note: Any = None) -> None:
        assert slot not in self.answers
        self.answers[slot] = parts
        self.answered.set()
        if note is not None:
            self.dispatcher.on_sent([note], note.answered_s, note.answered_s)

    def mute(self) -> None:
        self.mutes += 1

    def unmute(self) -> None:
        self.mutes -= 1

    def describe_client(self, name: str, version: str) -> None:
        self.software = name, version

    def close(self, reason: str) -> None:
        self.closed = reason

    def response(self, cls: type, version: int, slot: int = 0) -> Any:
        payload = b"".join(self.answers[slot])
        assert int.from_bytes(payload[:4], "big") == len(payload) - 4
        correlation_id, message = decode_response(cls, version, payload[4:])
        assert correlation_id == 77
        return message


class Broker:
    """A dispatcher whose handlers the test gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, authorizer: Any = ALLOW_ALL) -> None:
        self.monkeypatch = monkeypatch
        self.node = SimpleNamespace(authorizer=authorizer, clock=ManualClock())
        self.metrics = AllRequestMetrics(MetricRegistry(ManualClock()))
        self.dispatcher = Dispatcher(self.node, self.metrics)  # type: ignore[arg-type]
        self.client = Client()
        self.client.dispatcher = self.dispatcher

    def serve(self, key: ApiKey, handle: Any) -> None:
        service = self.dispatcher._services[int(key)]
        service.handle = handle

    def send(self, request: object, version: int, slot: int = 0) -> None:
        self.send_frame(encode_request(request, version, 77, "client")[4:], slot)

    def send_frame(self, frame: bytes, slot: int = 0) -> None:
        self.dispatcher.on_request(cast(Any, self.client), slot, bytearray(frame))


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    return Broker(monkeypatch)


def ok(*_: Any) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=0)


def test_a_plain_handler_is_answered_at_once(broker: Broker) -> None:
    seen: list[RequestContext] = []

    def handle(node: Any, context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        seen.append(context)
        assert (request.group_id, request.generation_id) == ("g", 1)
        return HeartbeatResponse(error_code=0)

    broker.serve(ApiKey.HEARTBEAT, handle)
    broker.send(HEARTBEAT, 4)
    assert broker.client.response(HeartbeatResponse, 4).error_code == 0
    [context] = seen
    assert (context.client_id, context.api_version, str(context.principal)) == ("client", 4, "User:ANONYMOUS")


def test_a_later_login_does_not_change_who_has_asked(broker: Broker) -> None:
    seen: list[RequestContext] = []

    def handle(node: Any, context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        broker.client.principal, broker.client.peer_host = Principal("User", "other"), "10.0.0.1"
        seen.append(context)
        return HeartbeatResponse(error_code=0)

    broker.serve(ApiKey.HEARTBEAT, handle)
    broker.send(HEARTBEAT, 4)
    broker.send(HEARTBEAT, 4, slot=1)
    assert [(str(context.principal), context.host) for context in seen] == [
        ("User:ANONYMOUS", "127.0.0.1"), ("User:other", "10.0.0.1"),
    ]  # fmt: skip


def test_a_coroutine_that_does_not_wait_needs_no_loop(broker: Broker) -> None:
    async def handle(*_: Any) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=0)

    broker.serve(ApiKey.HEARTBEAT, handle)
    broker.send(HEARTBEAT, 4)
    assert broker.client.response(HeartbeatResponse, 4).error_code == 0


def test_a_coroutine_that_waits_goes_on_where_it_stood(broker: Broker) -> None:
    steps: list[str] = []

    async def scenario() -> None:
        event, future = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def handle(*_: Any) -> HeartbeatResponse:
            steps.append("begun")
            await event.wait()
            steps.append(await future)
            with pytest.raises(ZeroDivisionError):
                await failing()
            await asyncio.sleep(0)
            return HeartbeatResponse(error_code=0)

        async def failing() -> None:
            await asyncio.sleep(0)
            raise ZeroDivisionError

        broker.serve(ApiKey.HEARTBEAT, handle)
        broker.send(HEARTBEAT, 4)
        assert steps == ["begun"] and not broker.client.answers
        event.set()
        await asyncio.sleep(0)
        future.set_result("went on")
        await broker.client.answered.wait()

    asyncio.run(scenario())
    assert steps == ["begun", "went on"]
    assert broker.client.response(HeartbeatResponse, 4).error_code == 0


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("key", [ApiKey.CREATE_PARTITIONS, ApiKey.ALTER_CONFIGS, ApiKey.HEARTBEAT])
def test_later_requests_wait_for_a_change_of_the_cluster_but_for_no_other_request(
    broker: Broker, key: ApiKey, fails: bool
) -> None:
    async def main() -> list[int]:
        gate = asyncio.Event()

        async def waiting(*_: Any) -> Any:
            await gate.wait()
            if fails:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "no")
            return response

        broker.serve(key, waiting)
        broker.send(request, 1)
        mutes = [broker.client.mutes]
        gate.set()
        await broker.client.answered.wait()
        await asyncio.sleep(0)
        return [*mutes, broker.client.mutes]

    request, response = {
        ApiKey.CREATE_PARTITIONS: (
            CreatePartitionsRequest(topics=[], timeout_ms=0, validate_only=False),
            CreatePartitionsResponse(throttle_time_ms=0, results=[]),
        ),
        ApiKey.ALTER_CONFIGS: (
            AlterConfigsRequest(resources=[], validate_only=False),
            AlterConfigsResponse(throttle_time_ms=0, responses=[]),
        ),
        ApiKey.HEARTBEAT: (HEARTBEAT, ok()),
    }[key]  # fmt: skip
    assert asyncio.run(main()) == [int(key is not ApiKey.HEARTBEAT), 0]


def test_a_change_that_is_cancelled_at_shutdown_leaves_those_behind_it_unhandled(broker: Broker) -> None:
    async def main() -> int:
        async def waiting(*_: Any) -> None:
            await asyncio.Event().wait()

        broker.serve(ApiKey.DELETE_TOPICS, waiting)
        broker.send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 3)
        await asyncio.sleep(0)
        await broker.dispatcher.drain()
        await asyncio.sleep(0)
        return broker.client.mutes

    assert asyncio.run(main()) == 1


def test_shutdown_waits_for_what_a_cancelled_request_still_does(broker: Broker) -> None:
    async def main() -> list[str]:
        done: list[str] = []

        async def waiting(*_: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                for _turn in range(3):
                    await asyncio.sleep(0)
                done.append("cleaned up")

        broker.serve(ApiKey.DELETE_TOPICS, waiting)
        broker.send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 3)
        await asyncio.sleep(0)
        await broker.dispatcher.drain()
        return done

    assert asyncio.run(main()) == ["cleaned up"]


def test_which_requests_are_done_in_order() -> None:
    assert sorted(key.name for key in DONE_IN_ORDER) == [
        "ALTER_CLIENT_QUOTAS", "ALTER_CONFIGS", "ALTER_PARTITION_REASSIGNMENTS", "ALTER_USER_SCRAM_CREDENTIALS",
        "CREATE_ACLS", "CREATE_PARTITIONS", "CREATE_TOPICS", "DELETE_ACLS", "DELETE_TOPICS",
        "INCREMENTAL_ALTER_CONFIGS",
    ]  # fmt: skip


def test_an_error_while_waiting_is_answered_too(broker: Broker) -> None:
    async def scenario() -> None:
        async def handle(*_: Any) -> HeartbeatResponse:
            await asyncio.sleep(0)
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)

        broker.serve(ApiKey.HEARTBEAT, handle)
        broker.send(HEARTBEAT, 4)
        await broker.client.answered.wait()

    asyncio.run(scenario())
    assert broker.client.response(HeartbeatResponse, 4).error_code == ErrorCode.ILLEGAL_GENERATION


def test_a_handler_may_answer_later_through_its_context(broker: Broker) -> None:
    kept: list[RequestContext] = []

    def handle(node: Any, context: RequestContext, request: Any) -> Any:
        kept.append(context)
        return ANSWERS_LATER

    broker.serve(ApiKey.HEARTBEAT, handle)
    broker.send(HEARTBEAT, 4)
    assert not broker.client.answers
    kept[0].answer(ok())
    assert broker.client.response(HeartbeatResponse, 4).error_code == 0


def test_no_response_is_an_answer_as_well(broker: Broker) -> None:
    broker.serve(ApiKey.HEARTBEAT, lambda *_: None)
    broker.send(HEARTBEAT, 4)
    assert broker.client.answers == {0: None}


def test_a_kafka_error_becomes_the_apis_answer(broker: Broker) -> None:
    def handle(*_: Any) -> Any:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, "who?")

    broker.serve(ApiKey.HEARTBEAT, handle)
    broker.send(HEARTBEAT, 2)
    assert broker.client.response(HeartbeatResponse, 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unforeseen_error_is_logged_and_answered(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    broker.serve(ApiKey.HEARTBEAT, lambda *_: 1 / 0)
    broker.send(HEARTBEAT, 2)
    assert broker.client.response(HeartbeatResponse, 2).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("error", [ConnectionLoss, SessionExpired, AuthFailed])
def test_a_request_that_zookeeper_cannot_serve_now_is_a_line_in_the_log(
    broker: Broker, error: type[ZkError], caplog: pytest.LogCaptureFixture
) -> None:
    def handle(*_: Any) -> Any:
        raise error("/config")

    broker.serve(ApiKey.HEARTBEAT, handle)
    broker.send(HEARTBEAT, 2)
    assert broker.client.response(HeartbeatResponse, 2).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert str(error("/config")) in caplog.text
    assert "Traceback" not in caplog.text


def test_a_response_that_cannot_be_encoded_ends_the_connection(broker: Broker) -> None:
    broker.serve(ApiKey.HEARTBEAT, lambda *_: HeartbeatResponse(error_code=1 << 20))
    broker.send(HEARTBEAT, 2)
    assert broker.client.closed
    assert not broker.client.answers


def test_an_api_without_a_handler_answers_its_error(broker: Broker) -> None:
    broker.send(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    response = broker.client.response(SaslHandshakeResponse, 1)
    assert (response.mechanisms, response.error_code) == ([], ErrorCode.ILLEGAL_SASL_STATE)


def test_an_unknown_api_ends_the_connection(broker: Broker) -> None:
    broker.send_frame(b"\x03\xe8\x00\x00\x00\x00\x00\x4d\xff\xff")
    assert broker.client.closed


@pytest.mark.parametrize("frame", [b"", b"\x00", b"\x00\x0c\x00\x04", b"\x00\x0c\x00\x04\x00\x00\x00\x4d\x00\xff"])
def test_a_header_that_cannot_be_read_ends_the_connection(broker: Broker, frame: bytes) -> None:
    broker.send_frame(frame)
    assert broker.client.closed


def test_a_body_that_cannot_be_read_ends_the_connection(broker: Broker) -> None:
    whole = encode_request(HEARTBEAT, 4, 77, "client")[4:]
    broker.send_frame(whole[:-3])
    assert broker.client.closed


@pytest.mark.parametrize("version", [-1, 5, 32767])
def test_an_unknown_version_ends_the_connection(broker: Broker, version: int) -> None:
    whole = bytearray(encode_request(HEARTBEAT, 4, 77, "client")[4:])
    whole[2:4] = version.to_bytes(2, "big", signed=True)
    broker.send_frame(bytes(whole))
    assert broker.client.closed


def test_an_unknown_version_of_api_versions_is_answered_in_v0_with_what_there_is(broker: Broker) -> None:
    whole = bytearray(encode_request(ApiVersionsRequest(), 3, 77, "client")[4:])
    whole[2:4] = (99).to_bytes(2, "big")
    broker.send_frame(bytes(whole))
    response = broker.client.response(ApiVersionsResponse, 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(row.api_key, row.min_version, row.max_version) for row in response.api_keys] == [(18, 0, 3)]


@pytest.mark.parametrize("version", range(4))
def test_api_versions_lists_exactly_what_is_served(broker: Broker, version: int) -> None:
    request = ApiVersionsRequest()
    if version == 3:
        request = ApiVersionsRequest(client_software_name="test-client", client_software_version="1.0")
    broker.send(request, version)
    response = broker.client.response(ApiVersionsResponse, version)
    assert response.error_code == 0
    assert {row.api_key: (row.min_version, row.max_version) for row in response.api_keys} == {
        int(key): (api.min_version, api.max_version) for key, api in APIS.items()
    }


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/", "ü"])
def test_a_malformed_client_software_name_is_an_invalid_request(broker: Broker, name: str) -> None:
    broker.send(ApiVersionsRequest(client_software_name=name, client_software_version="1"), 3)
    assert broker.client.response(ApiVersionsResponse, 3).error_code == ErrorCode.INVALID_REQUEST


def test_controller_requests_need_the_right_to_act_for_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Operation] = []

    class Nobody:
        def allows(self, who: Any, operation: Operation, *_: Any) -> bool:
            asked.append(operation)
            return False

    broker = Broker(monkeypatch, Nobody())
    broker.send(UpdateMetadataRequest(controller_id=1, controller_epoch=1, live_brokers=[]), 6)
    response = broker.client.response(UpdateMetadataResponse, 6)
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert asked == [Operation.CLUSTER_ACTION]


def test_requests_are_counted_by_version_and_errors_by_name(broker: Broker) -> None:
    broker.send(HEARTBEAT, 4, 0)
    broker.send(HEARTBEAT, 4, 1)
    metrics = broker.metrics.of(APIS[ApiKey.HEARTBEAT])
    metrics.fold()
    assert metrics.versions[4].requests == 2
    assert metrics.times.total_time.count == 2


def test_time_in_the_handler_and_time_parked_are_told_apart(broker: Broker) -> None:
    kept: list[RequestContext] = []

    def handle(node: Any, context: RequestContext, request: Any) -> Any:
        kept.append(context)
        return ANSWERS_LATER

    broker.serve(ApiKey.HEARTBEAT, handle)
    broker.send(HEARTBEAT, 4)
    kept[0].answer(ok())
    metrics = broker.metrics.of(APIS[ApiKey.HEARTBEAT])
    metrics.fold()
    times = metrics.times
    assert (times.local_time.count, times.remote_time.count, times.total_time.count) == (1, 1, 1)


def metadata_of(topics: int) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=f"t{number}") for number in range(topics)])


def test_a_request_of_many_elements_is_decoded_in_turns_and_those_behind_it_wait(broker: Broker) -> None:
    asked: list[int] = []

    def handle(node: Any, context: RequestContext, request: MetadataRequest) -> MetadataResponse:
        asked.append(len(request.topics or ()))
        return MetadataResponse(brokers=[], topics=[])

    async def main() -> None:
        broker.serve(ApiKey.METADATA, handle)
        broker.send(metadata_of(1000), 9, slot=0)
        assert (asked, broker.client.mutes) == ([1000], 0)
        clock, turns = broker.node.clock, 0
        clock.monotonic_ms = lambda: clock_now()

        def clock_now() -> float:
            nonlocal turns
            turns += 1
            return turns * 10.0  # every look at the clock finds the turn over

        broker.send(metadata_of(5000), 9, slot=1)
        assert (asked, broker.client.mutes) == ([1000], 1)
        loops = 0
        while broker.client.mutes:
            await asyncio.sleep(0)
            loops += 1
            assert loops < 10_000
        assert asked == [1000, 5000]
        assert loops >= 5000 // 256
        assert broker.client.response(MetadataResponse, 9, slot=1).topics == []
        assert not broker.dispatcher._tasks or await settled(broker)

    asyncio.run(main())


def test_a_large_request_that_fails_unforeseen_ends_its_connection(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is muted while its request is decoded: left open it would never be read again."""

    def failing(*_: object) -> Any:
        raise RuntimeError("nobody thought of this")
        yield

    async def main() -> None:
        monkeypatch.setattr(dispatch, "stepwise_decoder", lambda _cls, _version: failing)
        broker.send(metadata_of(5000), 9)
        assert broker.client.mutes == 1
        await settled(broker)
        assert broker.client.closed == "a request failed"

    asyncio.run(main())


async def settled(broker: Broker) -> bool:
    """Whether all tasks of the dispatcher end."""
    await asyncio.gather(*broker.dispatcher._tasks)
    return True


def test_more_elements_than_the_table_allows_end_the_connection_with_the_reason(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        broker.send(metadata_of(APIS[ApiKey.METADATA].elements + 1), 9)
        await settled(broker)

    asyncio.run(main())
    assert broker.client.closed is not None
    [line] = [record.getMessage() for record in caplog.records]
    assert line == (
        "Closing connection of 127.0.0.1:4711: MetadataRequest v9, topics: 100001 elements, "
        "at most 100000 are allowed: the client should spread them over several requests"
    )


def test_few_elements_may_be_too_many_for_an_api_that_needs_none(broker: Broker) -> None:
    request = LeaveGroupRequest(group_id="g" * 3000, members=[MemberIdentity(member_id="m")] * 3)
    broker.monkeypatch.setattr(broker.dispatcher._services[ApiKey.LEAVE_GROUP].api, "elements", 2)
    broker.monkeypatch.setattr(broker.dispatcher._services[ApiKey.LEAVE_GROUP], "elements_at_once", 2)
    broker.send(request, 4)
    assert broker.client.closed is not None
    assert "LeaveGroupRequest v4, members: 3 elements, at most 2 are allowed" in broker.client.closed


def test_a_frame_larger_than_its_api_allows_ends_the_connection(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.send(HeartbeatRequest(group_id="g" * 30_000, generation_id=1, member_id="m"), 4, 0)
    assert broker.client.closed is None
    broker.send_frame(encode_request(HEARTBEAT, 4, 77, "client")[4:] + bytes(300_000), 1)
    assert broker.client.closed is not None
    assert "Heartbeat request of 3000" in caplog.text and "at most 262144 are allowed for this API" in caplog.text


def test_bad_bytes_far_into_a_large_request_end_the_connection(broker: Broker) -> None:
    async def main() -> None:
        frame = encode_request(metadata_of(5000), 9, 77, "client")[4:-20]
        broker.send_frame(frame)
        assert broker.client.closed is None
        await settled(broker)

    asyncio.run(main())
    assert broker.client.closed is not None and "MetadataRequest v9, topics" in broker.client.closed


def test_a_large_request_of_a_client_that_has_gone_is_dropped(broker: Broker) -> None:
    async def main() -> None:
        broker.serve(ApiKey.METADATA, lambda *_: pytest.fail("it was handled"))
        broker.send(metadata_of(5000), 9)
        broker.client.close("gone")
        await settled(broker)

    asyncio.run(main())
    assert broker.client.answers == {}


def test_every_route_names_a_handler_that_exists() -> None:
    for key, route in ROUTES.items():
        assert isinstance(route, Route)
        service = ApiService(APIS[key], route, AllRequestMetrics(MetricRegistry(ManualClock())).of(APIS[key]))
        assert callable(service.import_handler())


def test_a_large_answer_is_encoded_in_turns(broker: Broker) -> None:
    async def scenario() -> None:
        broker.node.clock = BusyClock()
        topics = [
            MetadataResponseTopic(error_code=0, name=f"topic-{n}", is_internal=False, partitions=[])
            for n in range(1000)
        ]
        answer = MetadataResponse(brokers=[], cluster_id="c", controller_id=0, topics=topics)
        broker.serve(ApiKey.METADATA, lambda *_: answer)
        broker.send(metadata_of(1), 9)
        turns = 0
        while not broker.client.answers:
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 1000 // 64
        assert broker.client.response(MetadataResponse, 9) == answer

    asyncio.run(scenario())


def test_a_large_answer_that_cannot_be_encoded_ends_the_connection(broker: Broker) -> None:
    async def scenario() -> None:
        broker.node.clock = BusyClock()
        topics = [
            MetadataResponseTopic(error_code=0, name="t" if n < 900 else 7, is_internal=False, partitions=[])  # type: ignore[arg-type]
            for n in range(1000)
        ]
        broker.serve(ApiKey.METADATA, lambda *_: MetadataResponse(brokers=[], cluster_id="c", topics=topics))
        broker.send(metadata_of(1), 9)
        while not broker.client.closed:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert broker.client.closed == "internal error"
        assert not broker.client.answers

    asyncio.run(scenario())


def test_a_response_that_was_encoded_before_gets_the_id_of_each_request(broker: Broker) -> None:
    encoded = EncodedResponse(encode_response(HeartbeatResponse(error_code=0, throttle_time_ms=7), 4, 12))
    broker.serve(ApiKey.HEARTBEAT, lambda *_: encoded)
    broker.send(HEARTBEAT, 4, 0)
    broker.send(HEARTBEAT, 4, 1)
    for slot in (0, 1):
        assert broker.client.response(HeartbeatResponse, 4, slot).throttle_time_ms == 7
