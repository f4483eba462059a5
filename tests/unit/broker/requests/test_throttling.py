"""What requests count against, what their responses say, and how long their connections are muted."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.options import MAX_INT, java_double
from kafka_py.base.slices import FileSlice
from kafka_py.base.timers import Timer, Timers
from kafka_py.broker.observe.metrics import AllRequestMetrics
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.quota_keys import QuotaEntity
from kafka_py.broker.quotas.sensors import EvenBudget
from kafka_py.broker.requests.dispatch import Dispatcher
from kafka_py.broker.requests.fetch_sizes import fetch_response_bytes, sizing
from kafka_py.broker.requests.request_context import ANSWERS_LATER, EncodedResponse, RequestContext
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.frames_out import BlockedTime
from kafka_py.net.principal import ANONYMOUS
from kafka_py.replication.state.reads import FetchEntry, PartitionRead
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.frames import decode_response, encode_request, encode_response
from kafka_py.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_py.wire.messages.fetch import (
    AbortedTransaction,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchResponse,
)
from kafka_py.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataResponse
from kafka_py.wire.messages.produce import ProduceRequest, ProduceResponse
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka_py.wire.version_meanings import METADATA

HEARTBEAT = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
PRODUCE = ProduceRequest(acks=1, timeout_ms=1, topic_data=[])
APIS: dict[type, tuple[ApiKey, type]] = {
    HeartbeatRequest: (ApiKey.HEARTBEAT, HeartbeatResponse),
    MetadataRequest: (ApiKey.METADATA, MetadataResponse),
    CreateTopicsRequest: (ApiKey.CREATE_TOPICS, CreateTopicsResponse),
    ProduceRequest: (ApiKey.PRODUCE, ProduceResponse),
    UpdateMetadataRequest: (ApiKey.UPDATE_METADATA, UpdateMetadataResponse),
    WriteTxnMarkersRequest: (ApiKey.WRITE_TXN_MARKERS, WriteTxnMarkersResponse),
}


class Client:
    """A connection that keeps its answers."""

    listener_name, peer_host, peer_port = "PLAINTEXT", "127.0.0.1", 4711
    principal = ANONYMOUS
    read_s = 0.0
    budgets: Any = None
    closed = False

    def __init__(self, dispatcher: Dispatcher, send_s: float = 0.0) -> None:
        self.dispatcher = dispatcher
        self.send_s = send_s
        self.answers: list[Any] = []
        self.mutes = 0
        self.blocked: BlockedTime | None = None

    def respond(self, slot: int, parts: Any, note: Any = None) -> None:
        self.answers.append(parts)
        if note is not None:
            self.dispatcher.on_sent([note], note.answered_s, note.answered_s + self.send_s)

    def mute(self) -> None:
        self.mutes += 1

    def unmute(self) -> None:
        self.mutes -= 1

    def close(self, reason: str) -> None:
        raise AssertionError(reason)


class World:
    """A dispatcher with quotas of the client "c", and handlers that take `handler_ms`."""

    def __init__(self, callback: Any = None, **limits: float) -> None:
        self.clock = ManualClock()
        self.quotas = ClientQuotas(BrokerConfig.parse({"zookeeper.connect": "z"}), callback)
        self.node: Any = SimpleNamespace(authorizer=ALLOW_ALL, clock=self.clock, quotas=self.quotas, throttling=None)
        self.metrics = AllRequestMetrics(MetricRegistry(self.clock))
        self.dispatcher = Dispatcher(self.node, self.metrics)  # type: ignore[arg-type]
        self.client = Client(self.dispatcher)
        self.timers = Timers(self.clock, lambda _s, _callback: SimpleNamespace(cancel=lambda: None))
        self.scheduled: list[tuple[float, Any]] = []
        self.handler_ms = 0
        self.dispatcher.throttle_when_on(self.later)
        self.limit("c", **limits)

    def later(self, delay_ms: float, then: Any) -> Timer:
        self.scheduled.append((delay_ms, then))
        return self.timers.schedule(delay_ms, then)

    def limit(self, client_id: str, **limits: float) -> None:
        settings = {key: java_double(each) for key, each in limits.items()}
        for _ in self.quotas.applying(QuotaEntity(None, client_id), settings):
            pass

    def send(self, request: Any, version: int, client_id: str = "c") -> None:
        frame = bytearray(encode_request(request, version, 77, client_id)[4:])
        self.dispatcher.on_request(self.client, 0, frame)  # type: ignore[arg-type]

    def ask(self, request: Any, version: int, response: Any, client_id: str = "c") -> Any:
        """The response as the client gets it, or None."""
        key, cls = APIS[type(request)]

        def handle(_node: Any, context: RequestContext, _request: Any) -> Any:
            self.clock.advance(self.handler_ms)
            if isinstance(response, Exception):
                raise response
            if response is None or key is ApiKey.PRODUCE:
                context.answer(response)
                return ANSWERS_LATER
            return response

        self.dispatcher._services[int(key)].handle = handle
        self.send(request, version, client_id)
        parts = self.client.answers[-1]
        if parts is None:
            return None
        return decode_response(cls, version, b"".join(parts)[4:])[1]


def test_without_quotas_responses_go_straight_to_the_connection() -> None:
    world = World()
    assert {service.answer for service in world.dispatcher._services.values()} == {world.dispatcher._send}
    assert world.node.throttling is None
    assert world.ask(HEARTBEAT, 4, HeartbeatResponse(error_code=0)).throttle_time_ms == 0


def test_request_time_is_that_of_the_handler_and_of_sending() -> None:
    world = World(request_percentage=1.0)
    world.handler_ms = 100
    assert world.ask(HEARTBEAT, 4, HeartbeatResponse(error_code=0)).throttle_time_ms == 0  # 10 of 10 percents
    world.client.send_s = 0.05
    answer = world.ask(HEARTBEAT, 4, HeartbeatResponse(error_code=0))
    assert answer.throttle_time_ms == 1000  # the bound
    assert world.client.mutes == 1
    [(delay_ms, end)] = world.scheduled
    assert delay_ms == 1000
    assert world.quotas.request.muted == 1
    end()
    assert (world.client.mutes, world.quotas.request.muted) == (0, 0)
    [budget] = world.quotas.request.budgets
    assert budget.total == pytest.approx(25.0)  # twice 10 in the handler, 5 in sending


def test_errors_are_charged_and_throttled_too() -> None:
    world = World(request_percentage=0.001)
    world.handler_ms = 1
    answer = world.ask(HEARTBEAT, 4, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    assert (answer.error_code, answer.throttle_time_ms > 0) == (ErrorCode.UNKNOWN_MEMBER_ID, True)


def test_requests_between_brokers_are_exempt() -> None:
    world = World(request_percentage=0.001)
    world.handler_ms = 10
    request = UpdateMetadataRequest(
        controller_id=0, controller_epoch=1, broker_epoch=1, ungrouped_partition_states=[], topic_states=[],
        live_brokers=[],
    )  # fmt: skip
    world.ask(request, 6, UpdateMetadataResponse(error_code=0))
    assert (world.scheduled, world.quotas.exempt.total) == ([], pytest.approx(1.0))
    world.ask(request, 6, KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    assert len(world.scheduled) == 1


@pytest.mark.parametrize("name", ["fetch_follower", "fetch_consumer", "update_metadata"])
def test_the_time_of_sending_counts_without_that_for_which_the_peer_was_waited_for(name: str) -> None:
    world = World(request_percentage=1.0)
    key = ApiKey.UPDATE_METADATA if name == "update_metadata" else ApiKey.FETCH
    metrics = getattr(world.metrics, name, world.dispatcher._services[int(key)].metrics)
    context: Any = SimpleNamespace(
        connection=world.client, metrics=metrics, principal=ANONYMOUS, client_id="c", api=SimpleNamespace(key=key),
        budget=None,
    )  # fmt: skip
    world.client.blocked = blocked = BlockedTime(world.clock.monotonic_s)
    blocked.begin()
    world.clock.advance(5000)
    blocked.end()
    world.node.throttling.on_sent([context, context], 1.0, 6.5)
    charged = sum(budget.total for budget in world.quotas.request.budgets)
    expected = (50.0, 0.0) if name == "fetch_consumer" else (0.0, 50.0)
    assert (charged, world.quotas.exempt.total) == pytest.approx(expected)


def test_waiting_for_the_peer_before_the_first_quota_is_no_credit() -> None:
    """A connection notes how long its responses waited from its first one on, and quotas take that away later."""
    world = World(request_percentage=1.0)
    world.client.blocked = blocked = BlockedTime(world.clock.monotonic_s)
    blocked.begin()
    world.clock.advance(60_000)
    blocked.end()
    world.client.send_s = 0.5
    world.handler_ms = 10
    world.ask(HEARTBEAT, 4, HeartbeatResponse(error_code=0))
    [budget] = world.quotas.request.budgets
    assert budget.total == pytest.approx(1.0)


def test_the_longer_throttle_time_of_mutations_and_of_request_time_is_applied() -> None:
    request = CreateTopicsRequest(topics=[], timeout_ms=1)
    world = World(request_percentage=1.0, controller_mutation_rate=1.0)
    assert world.ask(request, 6, CreateTopicsResponse(throttle_time_ms=500, topics=[])).throttle_time_ms == 500
    assert (world.quotas.mutation.muted, world.quotas.request.muted) == (1, 0)
    world.handler_ms = 5000
    assert world.ask(request, 6, CreateTopicsResponse(throttle_time_ms=500, topics=[])).throttle_time_ms == 1000
    assert (world.quotas.mutation.muted, world.quotas.request.muted) == (1, 1)


def test_produced_bytes_are_header_and_body_and_a_tie_is_request_time() -> None:
    size = len(encode_request(PRODUCE, 8, 77, "c")) - 4
    world = World(producer_byte_rate=size / 10)
    assert world.ask(PRODUCE, 8, ProduceResponse(responses=[])).throttle_time_ms == 0
    answer = world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
    assert answer.throttle_time_ms == 10_000
    assert world.quotas.produce.muted == 1
    assert [budget.total for budget in world.quotas.produce.budgets] == [2 * size]


def test_request_time_mutes_when_both_throttle_times_are_equal() -> None:
    size = len(encode_request(PRODUCE, 8, 77, "c")) - 4
    world = World(producer_byte_rate=size / 11, request_percentage=1.0)
    world.handler_ms = 200
    assert world.ask(PRODUCE, 8, ProduceResponse(responses=[])).throttle_time_ms == 1000
    assert (world.quotas.produce.muted, world.quotas.request.muted) == (0, 1)


def test_bytes_mute_when_their_throttle_time_is_longer() -> None:
    world = World(producer_byte_rate=1.0, request_percentage=1.0)
    world.handler_ms = 200
    assert world.ask(PRODUCE, 8, ProduceResponse(responses=[])).throttle_time_ms > 1000
    assert (world.quotas.produce.muted, world.quotas.request.muted) == (1, 0)


def test_what_a_connection_has_looked_up_is_its_clients_until_limits_change() -> None:
    world = World(producer_byte_rate=1_000_000.0)
    world.limit("d", producer_byte_rate=1.0)

    def throttle_ms(client_id: str) -> int:
        asked: int = world.ask(PRODUCE, 8, ProduceResponse(responses=[]), client_id).throttle_time_ms
        return asked

    assert [throttle_ms(each) > 0 for each in ("c", "d", "c")] == [False, True, False]
    world.limit("c", producer_byte_rate=1.0)
    world.limit("d", producer_byte_rate=1_000_000.0)
    assert [throttle_ms(each) > 0 for each in ("c", "d")] == [True, False]
    world.limit("d", producer_byte_rate=1_000_000.0, request_percentage=0.001)
    world.handler_ms = 1
    assert throttle_ms("d") == 1000


def test_an_idle_budget_is_replaced_for_open_connections_too() -> None:
    world = World(producer_byte_rate=1_000_000.0)
    world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
    [before] = world.quotas.produce.budgets
    world.clock.advance(4_000_000)
    for _ in world.quotas.removing_idle(world.clock.monotonic_ms()):
        pass
    assert world.quotas.produce.budgets == []
    world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
    [after] = world.quotas.produce.budgets
    assert after is not before
    assert after.total > 0


def test_a_fetch_is_not_charged_to_a_budget_that_was_removed_while_it_waited() -> None:
    """Idle budgets are removed in steps; a fetch looks its budget up when it begins, and is charged when it ends."""
    world = World(consumer_byte_rate=1e9)
    throttling = world.node.throttling
    for number in range(300):  # more than are looked at in a step
        assert not throttling.refuses_fetch(fetching(world, str(number)), 1, FetchResponse)
    world.clock.advance(4_000_000)
    removing = world.quotas.fetch.removing_idle(world.clock.monotonic_ms())
    next(removing)
    context = fetching(world, "299")
    throttling.most_fetch_bytes(context, MAX_INT)
    assert list(removing) == []
    assert not throttling.refuses_fetch(context, 7, FetchResponse)
    assert {budget.tags: budget.total for budget in world.quotas.fetch.budgets} == {("", "299"): 7}


@pytest.mark.parametrize(("used_ms", "is_refused"), [(101, False), (102, True)])
def test_a_fetch_just_over_the_limit_of_request_time_is_refused(used_ms: int, is_refused: bool) -> None:
    world = World(request_percentage=1.0)  # 10.1 percent seconds in a window that is 10.1 s long
    for made_ms in (0, used_ms):  # the second one finds the sample begun
        context, made = fetching(world), []
        world.clock.advance(made_ms)

        def empty(made: list[FetchResponse] = made) -> FetchResponse:
            made.append(FetchResponse(session_id=9, responses=[]))
            return made[-1]

        refused = world.node.throttling.refuses_fetch(context, 1, empty)
        assert refused is (is_refused and made_ms > 0)
    assert [response.throttle_time_ms for response in made] == ([pytest.approx(98, abs=1)] if is_refused else [])
    assert (world.client.mutes, world.quotas.request.muted) == (int(is_refused), int(is_refused))


def test_a_plug_in_is_asked_at_every_record() -> None:
    class Plugin:
        """Has one budget for each number of calls."""

        calls = 0

        def quota_metric_tags(self, _type: str, _principal: object, _client_id: str) -> dict[str, str]:
            self.calls += 1
            return {"call": str(self.calls)}

        def quota_limit(self, _type: str, _tags: object) -> float | None:
            return None

        def quota_reset_required(self, _type: str) -> bool:
            return False

    world = World(Plugin())
    for _ in range(3):
        before = len(world.quotas.produce.budgets)
        world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
        assert len(world.quotas.produce.budgets) == before + 1


def test_without_acks_the_connection_is_muted_and_the_time_exempt() -> None:
    world = World(producer_byte_rate=1.0, request_percentage=0.001)
    world.handler_ms = 10
    assert world.ask(PRODUCE, 8, None) is None
    assert world.quotas.produce.muted == 1
    assert world.quotas.exempt.total == pytest.approx(1.0)
    assert world.quotas.request.budgets == []  # nor has the client metrics of request time


def test_old_versions_without_the_field_are_throttled_by_muting() -> None:
    world = World(producer_byte_rate=1.0)
    world.ask(PRODUCE, 0, ProduceResponse(responses=[]))
    assert world.client.mutes == 1


@pytest.mark.parametrize("version", [2, 3, 8, 9])
def test_a_shared_response_is_throttled_for_one_client_alone(version: int) -> None:
    shared = EncodedResponse(
        encode_response(MetadataResponse(brokers=[], topics=[]), version, 0), METADATA[version].throttle_at
    )
    world = World(request_percentage=0.001)
    world.handler_ms = 1
    request = MetadataRequest(topics=[])
    told = world.ask(request, version, shared).throttle_time_ms
    assert told == (1000 if version >= 3 else 0)
    other = World()
    assert other.ask(request, version, shared).throttle_time_ms == 0
    assert world.scheduled[0][0] == 1000


def test_throttle_times_end_when_they_are_over() -> None:
    world = World(producer_byte_rate=1.0)
    for _ in range(2):  # pipelined, so that both are throttled
        told = world.ask(PRODUCE, 8, ProduceResponse(responses=[])).throttle_time_ms
    assert (world.client.mutes, world.quotas.produce.muted) == (2, 2)
    world.clock.advance(told - 1)
    world.timers.advance()
    assert (world.client.mutes, world.quotas.produce.muted) == (1, 1)
    world.clock.advance(1)
    world.timers.advance()
    assert (world.client.mutes, world.quotas.produce.muted) == (0, 0)
    world.dispatcher.on_disconnect(world.client)  # type: ignore[arg-type]
    assert world.quotas.produce.muted == 0


def test_nothing_is_left_of_the_throttle_times_of_a_closed_connection() -> None:
    world = World(producer_byte_rate=0.001, request_percentage=0.001)
    for handler_ms in (0, 5):
        world.handler_ms = handler_ms
        world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
    assert world.quotas.produce.muted + world.quotas.request.muted == 2
    world.client.closed = True
    world.dispatcher.on_disconnect(world.client)  # type: ignore[arg-type]
    assert world.quotas.produce.muted + world.quotas.request.muted == 0
    assert world.timers.pending == 0
    world.ask(PRODUCE, 8, ProduceResponse(responses=[]))  # a response that comes too late
    assert world.quotas.produce.muted + world.quotas.request.muted == 0
    assert world.timers.pending == 0


def test_throttle_times_are_among_the_metrics_of_requests() -> None:
    world = World(request_percentage=0.001)
    world.handler_ms = 1
    world.ask(HEARTBEAT, 4, HeartbeatResponse(error_code=0))
    world.handler_ms = 0
    heartbeat = world.dispatcher._services[int(ApiKey.HEARTBEAT)].metrics
    heartbeat.fold()
    assert heartbeat.times.throttle_time.read()["Max"] == 1000.0
    assert heartbeat.times.throttle_time.read()["Count"] == 1


@pytest.mark.parametrize("version", range(13))
def test_sizes_of_fetch_responses(version: int) -> None:
    aborted = [(1, 2), (3, 4)]
    reads = [
        ("topic", 0, PartitionRead(ErrorCode.NONE, 1, 1, 0, None, 300)),
        ("topic", 1, PartitionRead(ErrorCode.NONE, 1, 1, 0, None, 0)),
        ("ünlike", 0, PartitionRead(ErrorCode.NONE, 1, 1, 0, None, 20_000, aborted=aborted)),
    ]
    results: Any = [(FetchEntry(TopicPartition(topic, number), 0, 0), read) for topic, number, read in reads]
    topics: dict[str, FetchableTopicResponse] = {}
    for topic, number, read in reads:
        row = FetchablePartitionResponse(
            partition=number, error_code=0, high_watermark=1, last_stable_offset=1, log_start_offset=0,
            aborted_transactions=[AbortedTransaction(producer_id=a, first_offset=b) for a, b in read.aborted]
            if read.aborted else None,
            record_set=b"x" * read.size,
        )  # fmt: skip
        topics.setdefault(topic, FetchableTopicResponse(topic=topic, partition_responses=[]))
        topics[topic].partition_responses.append(row)
    session_id = 5 if version >= 7 else 0
    parts = encode_response(FetchResponse(session_id=session_id, responses=list(topics.values())), version, 1)
    size = sum(part.size if isinstance(part, FileSlice) else len(part) for part in parts)
    header = 5 if version >= 12 else 4
    assert fetch_response_bytes(version, results) == size - header


def test_the_size_of_a_response_with_very_many_partitions_is_found_in_steps() -> None:
    read = [PartitionRead(ErrorCode.NONE, 1, 1, 0, None, size) for size in (300, 0)]
    results: Any = [(FetchEntry(TopicPartition(f"t{number}", 0), 0, 0), read[number % 2]) for number in range(2000)]
    for version in (11, 12):
        steps = list(sizing(version, results, returns_all=True))
        assert len(steps) == 2 * (2000 // 256)
        sent = [row for row in results if row[1].size]
        assert fetch_response_bytes(version, results, returns_all=False) == fetch_response_bytes(version, sent)


def test_a_fetch_over_the_quota_is_not_charged() -> None:
    world = World(consumer_byte_rate=100.0)
    throttling = world.node.throttling
    context: Any = SimpleNamespace(
        principal=ANONYMOUS, client_id="c", parked_s=0.0, started_s=0.0, metrics=world.metrics.fetch_consumer,
        connection=world.client, api=SimpleNamespace(key=ApiKey.FETCH, name="Fetch"), api_version=11, slot=0,
        correlation_id=77, exchange=None, large_request=None, has_short_answer=True, answered_s=0.0,
        received_s=0.0, request_bytes=10,
    )  # fmt: skip
    empty = FetchResponse(session_id=9, responses=[])
    assert throttling.most_fetch_bytes(context, MAX_INT) == 1000
    context.connection.budgets = None
    assert World(consumer_byte_rate=math.inf).node.throttling.most_fetch_bytes(context, MAX_INT) == MAX_INT
    context.connection.budgets = None
    assert not throttling.refuses_fetch(context, 1000, lambda: empty)
    assert throttling.refuses_fetch(context, 500, lambda: empty)
    assert (empty.throttle_time_ms, empty.session_id) == (5000, 9)
    [budget] = world.quotas.fetch.budgets
    assert budget.total == 1000
    assert world.quotas.fetch.muted == 1


@pytest.mark.parametrize("limit, most", [(-1.0, MAX_INT), (0.0, 0), (100.0, 1000), (1e12, MAX_INT)])
def test_a_limit_below_0_does_not_bound_responses(limit: float, most: int) -> None:
    """Otherwise a consumer's fetch would wait for less than no bytes: it would be answered at once, again and again."""
    world = World(consumer_byte_rate=limit)
    context: Any = fetching(world)
    assert world.dispatcher._throttling is not None
    assert world.dispatcher._throttling.most_fetch_bytes(context, MAX_INT) == most


def fetching(world: World, client_id: str = "c") -> Any:
    """The context of a consumer's fetch that began now."""
    return SimpleNamespace(
        principal=ANONYMOUS, client_id=client_id, parked_s=0.0, started_s=world.clock.monotonic_s(), slot=0,
        metrics=world.metrics.fetch_consumer, connection=world.client, api_version=11, budget=None,
        api=SimpleNamespace(key=ApiKey.FETCH, name="Fetch"), correlation_id=77, exchange=None, large_request=None,
        has_short_answer=True, answered_s=0.0, received_s=0.0, request_bytes=10,
    )  # fmt: skip


def test_each_connection_of_a_client_has_its_own_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(consumer_byte_rate=1.0)
    asked: list[int] = []

    def admit(_budget: Any, _value: float, _now_ms: float, who: int) -> int:
        asked.append(who)
        return 0

    monkeypatch.setattr(EvenBudget, "admit", admit)
    connections = [SimpleNamespace(principal=ANONYMOUS, budgets=None) for _ in range(2)]
    for connection in (*connections, *connections):
        context = fetching(world)
        context.connection = connection
        assert not world.node.throttling.refuses_fetch(context, 100, FetchResponse)
    assert asked[:2] == asked[2:] and asked[0] != asked[1]


def test_a_connection_may_produce_and_fetch_under_several_client_ids() -> None:
    world = World(producer_byte_rate=1e9, consumer_byte_rate=1e9, request_percentage=1e6)
    throttling = world.node.throttling
    for round_ in range(1, 4):
        for client_id in ("a", "b", "a"):
            context = fetching(world, client_id)
            world.clock.advance(10)
            assert not throttling.refuses_fetch(context, 100, FetchResponse)
        assert {budget.tags: budget.total for budget in world.quotas.fetch.budgets} == {
            ("", "a"): 200 * round_, ("", "b"): 100 * round_
        }  # fmt: skip
        used = {budget.tags: budget.total for budget in world.quotas.request.budgets}
        assert used == {("", "a"): pytest.approx(2.0 * round_), ("", "b"): pytest.approx(1.0 * round_)}
    assert world.quotas.produce.budgets == []  # it has only fetched: no metrics of Produce
    world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
    [budget] = world.quotas.produce.budgets
    assert budget.total > 0
    own_id = str(budget.tags[1])
    assert not throttling.refuses_fetch(fetching(world, own_id), 1, FetchResponse)
    other = World(producer_byte_rate=1e9, consumer_byte_rate=1e9)
    assert not other.node.throttling.refuses_fetch(fetching(other, own_id), 1, FetchResponse)
    other.ask(PRODUCE, 8, ProduceResponse(responses=[]))  # the same client produces after it has fetched
    assert [each.total for each in other.quotas.produce.budgets] == [budget.total]
    assert not throttling.refuses_fetch(fetching(world, "a"), 0, FetchResponse)
    kept = world.client.budgets
    for _ in throttling.request.resetting_limits():
        pass
    assert not throttling.refuses_fetch(fetching(world, "a"), 7, FetchResponse)
    assert world.client.budgets is not kept
    assert {budget.tags: budget.total for budget in world.quotas.fetch.budgets}["", "a"] == 607


def test_the_longer_throttle_time_of_a_fetch_counts() -> None:
    for size in (900, 1_000_000):
        world = World(consumer_byte_rate=100.0, request_percentage=1.0)
        context, empty = fetching(world), FetchResponse(session_id=9, responses=[])
        world.clock.advance(200)  # of 10 percent seconds that a window may have, 20 are used
        is_by_bytes = size > 100 * 10
        assert world.node.throttling.refuses_fetch(context, size, lambda: empty)  # noqa: B023  # called at once
        assert (empty.throttle_time_ms > 1000) is is_by_bytes  # that of request time is a sample at most
        assert (world.quotas.request.muted, world.quotas.fetch.muted) == ((0, 1) if is_by_bytes else (1, 0))
        assert [budget.total for budget in world.quotas.fetch.budgets] == [0]
        assert [budget.total for budget in world.quotas.request.budgets] == [pytest.approx(20.0)]


@pytest.mark.parametrize("version", range(4, 13))
def test_one_partition_is_sized_as_many_are(version: int) -> None:
    for size in (0, 1, 200):
        for aborted in (None, [], [(1, 2), (3, 4)]):
            read = PartitionRead(ErrorCode.NONE, records=b"x" * size, size=size, aborted=aborted)
            results: Any = [(FetchEntry(TopicPartition("t\u00fc", 0), 0, 0), read)]
            for returns_all in (True, False):
                steps = sizing(version, results, returns_all=returns_all)
                with pytest.raises(StopIteration) as done:
                    next(steps)
                assert fetch_response_bytes(version, results, returns_all=returns_all) == done.value.value


def test_the_time_of_sending_counts_for_produce_too() -> None:
    world = World(request_percentage=1000.0)
    world.client.send_s = 0.02
    for number, wait_ms in enumerate((0, 100, 2000), 1):  # in the same sample, and in another one
        world.clock.advance(wait_ms)
        world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
        [budget] = world.quotas.request.budgets
        assert budget.total == pytest.approx(2.0 * number)


def test_waiting_of_a_produce_request_is_free() -> None:
    world = World(request_percentage=1.0)
    parked: list[RequestContext] = []

    def handle(_node: Any, context: RequestContext, _request: Any) -> Any:
        world.clock.advance(10)
        parked.append(context)
        return ANSWERS_LATER

    world.dispatcher._services[int(ApiKey.PRODUCE)].handle = handle
    world.send(PRODUCE, 8)
    world.clock.advance(5_000)
    parked[0].answer(ProduceResponse(responses=[]))
    [budget] = world.quotas.request.budgets
    assert budget.total == pytest.approx(1.0)


def test_waiting_is_free() -> None:
    async def scenario() -> None:
        world = World(request_percentage=1.0)
        done = asyncio.Event()

        async def handle(*_: Any) -> HeartbeatResponse:
            world.clock.advance(10)
            await done.wait()
            return HeartbeatResponse(error_code=0)

        world.dispatcher._services[int(ApiKey.HEARTBEAT)].handle = handle
        world.send(HEARTBEAT, 4)
        world.clock.advance(5_000)
        done.set()
        await asyncio.gather(*world.dispatcher._tasks)
        [budget] = world.quotas.request.budgets
        assert budget.total == pytest.approx(1.0)

    asyncio.run(scenario())


def test_a_handler_that_works_in_turns_is_charged_for_all_of_them() -> None:
    """Otherwise requests with very many elements, which are the costly ones, would be nearly free."""

    async def scenario() -> None:
        world = World(request_percentage=1.0)
        fails = False

        async def handle(*_: Any) -> HeartbeatResponse:
            for _turn in range(5):
                world.clock.advance(10)
                await asyncio.sleep(0)
                await waited()
            world.clock.advance(10)
            if fails:
                raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
            return HeartbeatResponse(error_code=0)

        async def waited() -> None:
            """Lets others have the loop, which costs this client nothing."""
            asyncio.get_running_loop().call_soon(world.clock.advance, 500)
            await asyncio.sleep(0)

        world.dispatcher._services[int(ApiKey.HEARTBEAT)].handle = handle
        world.send(HEARTBEAT, 4)
        await asyncio.gather(*world.dispatcher._tasks)
        [budget] = world.quotas.request.budgets
        assert budget.total == pytest.approx(6.0)
        fails = True
        world.send(HEARTBEAT, 4)
        await asyncio.gather(*world.dispatcher._tasks)
        assert budget.total == pytest.approx(12.0)

    asyncio.run(scenario())


def test_what_a_handler_does_after_its_response_is_not_counted_as_waiting() -> None:
    async def scenario() -> None:
        world = World(request_percentage=1.0)
        world.clock.advance(1_000)
        kept: list[RequestContext] = []

        async def handle(_node: Any, context: RequestContext, _request: Any) -> Any:
            kept.append(context)
            await asyncio.sleep(0)
            context.answer(HeartbeatResponse(error_code=0))
            world.clock.advance(10)
            return ANSWERS_LATER

        world.dispatcher._services[int(ApiKey.HEARTBEAT)].handle = handle
        world.send(HEARTBEAT, 4)
        await asyncio.gather(*world.dispatcher._tasks)
        assert kept[0].started_s <= kept[0].parked_s <= kept[0].answered_s

    asyncio.run(scenario())


def test_each_request_counts_against_the_client_id_that_it_names() -> None:
    """Also where one connection sends those of several clients, in turn or together."""
    world = World(producer_byte_rate=1e9, request_percentage=1000.0)
    world.limit("d", producer_byte_rate=1e9, request_percentage=1000.0)
    world.handler_ms = 10
    size = len(encode_request(PRODUCE, 8, 77, "c")) - 4
    for client_id in "ccdcdd":
        world.ask(PRODUCE, 8, ProduceResponse(responses=[]), client_id)
    for manager, expected in ((world.quotas.produce, 3 * size), (world.quotas.request, 3.0)):
        used = {budget.tags: budget.total for budget in manager.budgets}
        assert used == pytest.approx({("", "c"): expected, ("", "d"): expected})


def test_the_time_of_sending_counts_against_the_client_of_each_request() -> None:
    """Responses to several clients of one connection that are sent together, of Produce and of another API."""
    world = World(request_percentage=1000.0)
    world.limit("d", request_percentage=1000.0)
    notes: list[RequestContext] = []
    world.client.respond = lambda slot, parts, note=None: notes.append(note)  # type: ignore[method-assign]
    for client_id, request, response in (
        ("c", PRODUCE, ProduceResponse(responses=[])), ("d", PRODUCE, ProduceResponse(responses=[])),
        ("d", HEARTBEAT, HeartbeatResponse(error_code=0)), ("c", PRODUCE, None),
    ):  # fmt: skip
        world.client.answers.append(None)
        world.ask(request, 8 if request is PRODUCE else 4, response, client_id)
    world.node.throttling.on_sent(notes, 1.0, 1.04)
    used = {budget.tags: budget.total for budget in world.quotas.request.budgets}
    assert used == pytest.approx({("", "c"): 1.0, ("", "d"): 2.0})
    assert world.quotas.exempt.total == pytest.approx(1.0), "that of the request without acks"


def test_the_time_of_sending_a_refusal_to_no_broker_counts_against_its_client() -> None:
    """Requests between brokers are exempt, also with other errors, but not those of clients that are no brokers."""
    rows = [WritableTxnMarkerTopic(name="t", partition_indexes=[0])]
    marker = WritableTxnMarker(
        producer_id=1, producer_epoch=0, transaction_result=True, topics=rows, coordinator_epoch=0
    )  # fmt: skip
    update = UpdateMetadataRequest(
        controller_id=0, controller_epoch=1, broker_epoch=1, ungrouped_partition_states=[], topic_states=[],
        live_brokers=[],
    )  # fmt: skip
    for request, version in ((update, 6), (WriteTxnMarkersRequest(markers=[marker]), 0)):
        for code, expected in (
            (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, (3.0, 0.0)), (ErrorCode.STALE_BROKER_EPOCH, (0.0, 3.0))
        ):  # fmt: skip
            world = World(request_percentage=1000.0)
            world.handler_ms, world.client.send_s = 10, 0.02
            world.ask(request, version, KafkaError(code))
            charged = sum(budget.total for budget in world.quotas.request.budgets)
            assert (charged, world.quotas.exempt.total) == pytest.approx(expected), (request, code)


def test_a_produce_response_without_records_of_its_own_is_charged_like_any_other() -> None:
    """A coroutine handler and an error are answered by dispatch, not through the context."""
    size = len(encode_request(PRODUCE, 8, 77, "c")) - 4
    world = World(producer_byte_rate=size / 10, request_percentage=1000.0)
    world.handler_ms = 10
    for number in (1, 2):
        world.ask(PRODUCE, 8, KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        assert [budget.total for budget in world.quotas.produce.budgets] == [number * size]
        assert [budget.total for budget in world.quotas.request.budgets] == [pytest.approx(number)]
    assert world.quotas.produce.muted == 1


def test_sending_that_ends_after_the_sample_counts_in_the_next_one() -> None:
    world = World(request_percentage=1000.0)
    world.client.send_s = 2.0
    world.ask(PRODUCE, 8, ProduceResponse(responses=[]))
    [budget] = world.quotas.request.budgets
    assert budget.ends_ms == world.clock.monotonic_ms() + 2000.0 + world.quotas.request.window.sample_ms


def test_equal_limits_share_one_number() -> None:
    world = World(producer_byte_rate=1000.0)
    for client_id in "de":
        world.limit(client_id, producer_byte_rate=1000.0)
    for client_id in "cde":
        world.ask(PRODUCE, 8, ProduceResponse(responses=[]), client_id)
    assert len({id(budget.enough) for budget in world.quotas.produce.budgets}) == 1
