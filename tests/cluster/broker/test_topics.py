"""CreateTopics, CreatePartitions, DeleteTopics on a whole broker (docs/reference/controller.md, sections 9 and 14)."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import AsyncMock

import pytest

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ZERO_UUID
from kafka_py.base.steps import SLICE
from kafka_py.base.turns import Turn, next_turn
from kafka_py.broker.handlers.admin import create_partitions, create_topics, delete_topics
from kafka_py.broker.handlers.brokers import update_metadata
from kafka_py.broker.metadata.topic_waits import wait_for_topics
from kafka_py.controller.topic_policy import RequestMetadata
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_py.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.zk.session import ConnectionLoss
from kafka_py.zk.topics import TopicAssignment


def new_topic(
    name: str, partitions: int = -1, factor: int = -1, *, configs: Mapping[str, str | None] | None = None,
    assignments: Mapping[int, Sequence[int]] | None = None,
) -> CreatableTopic:  # fmt: skip
    rows = [CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in (assignments or {}).items()]  # fmt: skip
    given = [CreateableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    return CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=factor, assignments=rows, configs=given
    )


async def create(broker: LocalBroker, *topics: CreatableTopic, version: int = 7, **fields: Any) -> dict[str, Any]:
    request = CreateTopicsRequest(topics=list(topics), **{"timeout_ms": 5000, **fields})
    response = await broker.ask(request, version)
    return {topic.name: topic for topic in response.topics}


@on_broker(num_partitions=3)
async def test_every_version_creates_and_from_v5_on_tells_what_came_of_it(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 3: v5+ returns partitions, replicas and configs; -1 means broker default."""
    for version in range(8):
        name = f"t{version}"
        made = (await create(broker, new_topic(name, configs={"segment.bytes": "5000"}), version=version))[name]
        assert made.error_code == 0
        assert len(broker.server.node.metadata.partitions_of(name)) == 3
        if version >= 5:
            assert (made.num_partitions, made.replication_factor) == (3, 1)
            assert {row.name: (row.value, row.config_source) for row in made.configs}["segment.bytes"] == ("5000", 1)
        if version >= 7:
            assert made.topic_id == broker.server.node.metadata.topic_id(name)
    assert {log.config.segment_bytes for log in broker.server.node.log_dirs.all_logs()} == {5000}


@on_broker()
async def test_validate_only_makes_nothing(broker: LocalBroker) -> None:
    got = await create(broker, new_topic("t", 2, 1), validate_only=True)
    assert (got["t"].error_code, got["t"].num_partitions) == (0, 2)
    assert not await broker.store.topics.names()


@on_broker()
async def test_an_explicit_assignment_is_taken_and_may_name_brokers_that_are_not_there(broker: LocalBroker) -> None:
    got = await create(broker, new_topic("t", assignments={0: [0], 1: [0]}))
    assert (got["t"].error_code, got["t"].num_partitions) == (0, 2)
    got = await create(broker, new_topic("u", assignments={0: [7]}), timeout_ms=50)
    assert got["u"].error_code == ErrorCode.REQUEST_TIMED_OUT
    assert "u" in await broker.store.topics.names()


@on_broker()
async def test_the_answer_waits_for_each_partition_of_a_topic(broker: LocalBroker) -> None:
    got = await create(broker, new_topic("t", assignments={0: [0], 1: [7]}), timeout_ms=50)
    assert got["t"].error_code == ErrorCode.REQUEST_TIMED_OUT


@on_broker()
async def test_a_partition_that_is_assigned_twice_is_refused(broker: LocalBroker) -> None:
    topic = new_topic("t", assignments={0: [0], 1: [0]})
    topic.assignments.append(CreatableReplicaAssignment(partition_index=1, broker_ids=[0]))
    got = await create(broker, topic)
    assert got["t"].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert got["t"].error_message == "A partition is assigned more than once."
    assert not await broker.store.topics.names()


@on_broker()
async def test_topics_of_one_request_read_the_names_once(broker: LocalBroker) -> None:
    topics, read = broker.server.node.store.topics, 0
    names = topics.names

    async def counted() -> Any:
        nonlocal read
        read += 1
        return await names()

    topics.names = counted  # type: ignore[method-assign, assignment]
    got = await create(broker, *(new_topic(f"t.{number}") for number in range(20)), validate_only=True)
    assert {row.error_code for row in got.values()} == {0}
    assert read < 10  # again only after a tenth of a second


@on_broker()
async def test_each_topic_has_its_own_error(broker: LocalBroker) -> None:
    await broker.create_topic("exists")
    got = await create(
        broker,
        new_topic("good"),
        new_topic("exists"),
        new_topic("bad name"),
        new_topic("none", 0, 1),
        new_topic("many", 1, 2),
        new_topic("both", 1, 1, assignments={0: [0]}),
        new_topic("holes", assignments={0: [0], 2: [0]}),
        new_topic("twice", assignments={0: [0, 0]}),
        new_topic("setting", configs={"no.such": "1"}),
        new_topic("value", configs={"segment.bytes": "x"}),
        new_topic("null", configs={"segment.bytes": None}),
        new_topic("dup"),
        new_topic("dup"),
    )
    assert {name: ErrorCode(row.error_code).name for name, row in got.items()} == {
        "good": "NONE",
        "exists": "TOPIC_ALREADY_EXISTS",
        "bad name": "INVALID_TOPIC_EXCEPTION",
        "none": "INVALID_PARTITIONS",
        "many": "INVALID_REPLICATION_FACTOR",
        "both": "INVALID_REQUEST",
        "holes": "INVALID_REPLICA_ASSIGNMENT",
        "twice": "INVALID_REPLICA_ASSIGNMENT",
        "setting": "INVALID_CONFIG",
        "value": "INVALID_CONFIG",
        "null": "INVALID_REQUEST",
        "dup": "INVALID_REQUEST",
    }
    assert got["exists"].error_message
    assert got["good"].error_message is None


class NoShortNames:
    """A policy as a site might have it."""

    def configure(self, configs: Mapping[str, object]) -> None:
        assert "zookeeper.connect" in configs

    def validate(self, request: Any) -> None:
        from kafka_py.controller.topic_policy import PolicyViolation

        if len(request.topic) < 3:
            raise PolicyViolation("too short")


@on_broker()
async def test_of_names_that_collide_in_one_request_the_first_is_made(broker: LocalBroker) -> None:
    """Topics of one request are made side by side, these are not: the checks of the second must see the first."""
    got = await create(broker, *map(new_topic, ("a.b_c", "plain", "a_b.c", "a.b.c")))
    expected = {
        "a.b_c": 0,
        "plain": 0,
        "a_b.c": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "a.b.c": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert {name: row.error_code for name, row in got.items()} == expected
    assert list(got) == list(expected)


@on_broker()
async def test_topics_of_one_request_need_few_changes_of_the_cluster(broker: LocalBroker) -> None:
    """Made one by one, each would be an event of the controller's own, with requests of its own to every broker."""
    timing = broker.server.node.controller._stats.topic_change
    before = timing.count
    got = await create(broker, *(new_topic(f"t-{number}", 1, 1) for number in range(100)))
    assert {row.error_code for row in got.values()} == {0}
    assert timing.count - before < 25


@on_broker()
async def test_events_of_the_controller_that_need_no_wait_are_taken_in_turns(broker: LocalBroker) -> None:
    """Replies of brokers are such events: hundreds come together after a change of many topics."""
    controller = broker.server.node.controller
    asked = [asyncio.create_task(controller.list_reassignments(None)) for _ in range(4000)]
    turns = 0
    while not all(each.done() for each in asked[-3:]):
        turns += 1
        await asyncio.sleep(0)
    assert [each.result() for each in asked[-3:]] == [{}] * 3
    assert turns > 20


@on_broker()
async def test_the_controller_does_not_wait_in_line_with_the_long_requests_of_clients(broker: LocalBroker) -> None:
    """An election would take as many turns as there are clients that ask for much."""
    controller, is_over = broker.server.node.controller, False

    async def ask_for_much() -> None:
        while not is_over:
            await next_turn()

    clients = [asyncio.create_task(ask_for_much()) for _ in range(200)]
    asked = [asyncio.create_task(controller.list_reassignments(None)) for _ in range(1000)]
    turns = 0
    while not asked[-1].done():
        turns += 1
        await asyncio.sleep(0)
    is_over = True
    await asyncio.gather(*clients)
    assert turns < 1500  # at most one for each event; in line it would be 200 for each half of a millisecond


@on_broker()
async def test_refusals_that_repeat_long_texts_are_answered_with_their_beginning(broker: LocalBroker) -> None:
    """A response that cannot be encoded closes the connection, and nothing is known of the other topics."""
    long = "x" * 32_760
    got = await create(
        broker, new_topic("good"), new_topic(long),
        new_topic("nulls", configs={f"config.name.number.{number}": None for number in range(2000)}),
        new_topic("value", configs={"retention.ms": long}), new_topic("unknown", configs={long: "1"}),
    )  # fmt: skip
    assert {name[:10]: ErrorCode(row.error_code).name for name, row in got.items()} == {
        "good": "NONE",
        "x" * 10: "INVALID_TOPIC_EXCEPTION",
        "nulls": "INVALID_REQUEST",
        "value": "INVALID_CONFIG",
        "unknown": "INVALID_CONFIG",
    }
    more = CreatePartitionsTopic(name=long, count=3, assignments=None)
    request = CreatePartitionsRequest(topics=[more], timeout_ms=1000, validate_only=False)
    [refused] = (await broker.ask(request, 3)).results
    assert refused.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused.error_message.endswith("...")


@on_broker()
async def test_a_policy_may_refuse(broker: LocalBroker) -> None:
    broker.server.node.topics._policy = NoShortNames()
    NoShortNames().configure(broker.settings)
    got = await create(broker, new_topic("t"), new_topic("long"))
    assert (got["t"].error_code, got["t"].error_message) == (ErrorCode.POLICY_VIOLATION, "too short")
    assert got["long"].error_code == 0


@on_broker()
async def test_a_topic_made_by_hand_in_zookeeper_is_served_even_with_gaps(broker: LocalBroker) -> None:
    await broker.store.topics.create("by-hand", TopicAssignment.of({0: [0], 2: [0], 5: [0]}), {})
    await broker.until(lambda: len(broker.server.node.metadata.partitions_of("by-hand")) == 3)
    await broker.until(lambda: len(broker.server.node.hosted.partitions) == 3)
    assert (await broker.produce("by-hand", batch(), partition=5)).error_code == 0
    assert (await broker.produce("by-hand", batch(), partition=1)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class CountedTurns:
    """asked: how often the work has asked each Turn that a module made whether it is over, in their order."""

    def __init__(self, patched: pytest.MonkeyPatch, module: ModuleType) -> None:
        self.asked = asked = list[int]()

        class Counted(Turn):
            def __init__(self, clock: Clock) -> None:
                super().__init__(clock)
                self.number = len(asked)
                asked.append(0)

            async def maybe_yield(self) -> None:
                asked[self.number] += 1
                await super().maybe_yield()

        patched.setattr(module, "Turn", Counted)


@on_broker()
async def test_topics_that_are_waited_for_are_looked_at_in_turns_when_the_cluster_changes(broker: LocalBroker) -> None:
    names = [f"waited-for-{number}" for number in range(50)]
    node = broker.server.node
    waits = asyncio.create_task(
        wait_for_topics(node.topic_waits, names, node.metadata.has_topic, 20_000, Turn(node.clock))
    )
    with pytest.MonkeyPatch.context() as patched:
        turns = CountedTurns(patched, update_metadata)
        await create(broker, *(new_topic(name, 1, 1) for name in names))
        assert await waits == set()
    assert len([asked for asked in turns.asked if asked >= len(names)]) >= 2, "while it is read, and for those who wait"


@on_broker()
async def test_topics_that_are_made_by_one_request_share_its_turn(broker: LocalBroker) -> None:
    many = 4 * SLICE
    with pytest.MonkeyPatch.context() as patched:
        turns = CountedTurns(patched, create_topics)
        refused = await create(broker, *(new_topic("bad name", 1, 9) for _ in range(1000)))
        assert refused["bad name"].error_code == ErrorCode.INVALID_REQUEST
        refused = await create(broker, *(new_topic(f"bad name {number}", 1, 9) for number in range(1000)))
        assert {row.error_code for row in refused.values()} == {ErrorCode.INVALID_REPLICATION_FACTOR}
        rows = {number: [0] for number in range(many)}
        made = await create(broker, *(new_topic(name, assignments=rows) for name in "abc"), validate_only=True)
        assert {row.error_code for row in made.values()} == {0}
    assert len(turns.asked) == 3
    assert turns.asked[0] >= 1000
    assert turns.asked[1] >= 3 * 1000  # named, begun, and its replicas placed
    copied_and_checked_twice = many + (4 + 1) + (2 * 4 + 1)
    assert turns.asked[2] >= 3 * (1 + 1 + copied_and_checked_twice + 1)


def _waited_for(handler: ModuleType, names: list[str]) -> object:
    """A request that waits for topics with these names."""
    if handler is create_topics:
        created = [new_topic(name, 1, 1) for name in names]
        return CreateTopicsRequest(topics=created, timeout_ms=1000, validate_only=True)
    if handler is create_partitions:
        grown = [CreatePartitionsTopic(name=name, count=2, assignments=None) for name in names]
        return CreatePartitionsRequest(topics=grown, timeout_ms=1000, validate_only=True)
    return DeleteTopicsRequest(topic_names=names, timeout_ms=1000)


@pytest.mark.parametrize("handler", [create_topics, create_partitions, delete_topics])
def test_topics_that_are_late_are_named_in_turns(handler: ModuleType) -> None:
    @on_broker()
    async def scenario(broker: LocalBroker) -> None:
        with pytest.MonkeyPatch.context() as patched:
            turns, asked = CountedTurns(patched, handler), [0]
            for are_late in (False, True):
                names = [f"t{number}-{are_late}" for number in range(20)]
                if handler is delete_topics:
                    await create(broker, *(new_topic(name, 1, 1) for name in names))
                for wait in ("wait_for_leaders", "wait_for_topics"):
                    late = AsyncMock(return_value=set(names) if are_late else set())
                    patched.setattr(handler, wait, late, raising=False)
                await broker.ask(_waited_for(handler, names), 1)
                asked.append(sum(turns.asked) - asked[-1])
        assert asked[2] == asked[1] + 20

    scenario()


@on_broker()
async def test_names_of_topics_to_delete_are_read_in_turns(broker: LocalBroker) -> None:
    names = [f"unknown{number}" for number in range(1000)]
    with pytest.MonkeyPatch.context() as patched:
        turns = CountedTurns(patched, delete_topics)
        await broker.ask(DeleteTopicsRequest(topic_names=names, timeout_ms=1000), 3)
    assert turns.asked[0] >= 2 * len(names)


# CreatePartitions


async def grow(
    broker: LocalBroker, name: str, count: int, assignments: Sequence[Sequence[int]] | None = None, **fields: Any
) -> Any:
    rows = None if assignments is None else [CreatePartitionsAssignment(broker_ids=list(row)) for row in assignments]
    topic = CreatePartitionsTopic(name=name, count=count, assignments=rows)
    request = CreatePartitionsRequest(topics=[topic], **{"timeout_ms": 5000, "validate_only": False, **fields})
    return (await broker.ask(request, 3)).results[0]


@on_broker()
async def test_partitions_are_added_and_served_when_the_answer_comes(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    topic_id = broker.server.node.metadata.topic_id("t")
    assert (await grow(broker, "t", 3)).error_code == 0
    assert (await grow(broker, "t", 4, timeout_ms=0)).error_code == ErrorCode.REQUEST_TIMED_OUT
    assert (await broker.produce("t", batch(), partition=2)).error_code == 0
    assert broker.server.node.metadata.topic_id("t") == topic_id


@on_broker()
async def test_topics_that_one_request_extends_share_its_turn(broker: LocalBroker) -> None:
    """Also those of which nothing is read."""
    many = 4 * SLICE
    rows = [CreatePartitionsAssignment(broker_ids=[0]) for _ in range(many)]
    await create(broker, *(new_topic(name, 1, 1) for name in "abc"))
    broker.server.node.topics._is_queued = lambda topic: topic.startswith("going")

    async def asked(*topics: CreatePartitionsTopic) -> tuple[set[int], list[int]]:
        with pytest.MonkeyPatch.context() as patched:
            turns = CountedTurns(patched, create_partitions)
            request = CreatePartitionsRequest(topics=list(topics), timeout_ms=5000, validate_only=True)
            answer = await broker.ask(request, 3)
        return {row.error_code for row in answer.results}, turns.asked

    named = [CreatePartitionsTopic(name=f"going {number}", count=2, assignments=None) for number in range(1000)]
    codes, (checked, grown) = await asked(*named)
    assert codes == {ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert checked >= 2 * 1000
    assert grown >= 1000
    named = [CreatePartitionsTopic(name=name, count=1 + many, assignments=rows) for name in "abc"]
    codes, (checked, grown) = await asked(*named)
    assert codes == {0}
    assert checked >= 2 * 3
    assert 3 * (2 + 3 * 4) <= grown < 3 * many  # begun, read; copied, and checked twice


@on_broker()
async def test_what_cannot_be_added_is_said_and_validate_only_has_no_effect(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 3: per-item errors, validate-only has no effect."""
    await broker.create_topic("t", 2)
    for count, assignments, code in (
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (3, [[7]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[0], [0]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ):
        assert (await grow(broker, "t", count, assignments)).error_code == code
    assert (await grow(broker, "none", 3)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await grow(broker, "t", 5, validate_only=True)).error_code == 0
    assert await broker.store.topics.partition_count("t") == 2


# DeleteTopics


@on_broker(log_segment_delete_delay_ms=100)
async def test_every_version_deletes_by_name_and_the_answer_means_gone(broker: LocalBroker) -> None:
    for version in range(7):
        await broker.create_topic("t")
        await broker.produce("t", batch())
        names = {"topic_names": ["t"]} if version < 6 else {"topics": [DeleteTopicState(name="t", topic_id=ZERO_UUID)]}
        [result] = (await broker.ask(DeleteTopicsRequest(timeout_ms=5000, **names), version)).responses
        assert (result.name, result.topic_id, result.error_code) == ("t", ZERO_UUID, 0)
        assert not broker.server.node.metadata.has_topic("t")
        await broker.until(lambda: not broker.server.node.hosted.partitions)
        await _until_gone(broker, "t")


async def _until_gone(broker: LocalBroker, topic: str) -> None:
    while await broker.store.topics.exists(topic):
        pass


@on_broker()
async def test_a_topic_is_deleted_by_its_id(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    topic_id = broker.server.node.metadata.topic_id("t")
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=topic_id)], timeout_ms=5000)
    [result] = (await broker.ask(request, 6)).responses
    assert (result.name, result.topic_id, result.error_code) == ("t", topic_id, 0)


@on_broker()
async def test_name_and_id_of_one_topic_have_the_same_outcome(broker: LocalBroker) -> None:
    """It has not gone within no time at all, whichever way it was named."""
    await broker.create_topic("t")
    by_name = DeleteTopicState(name="t", topic_id=ZERO_UUID)
    by_id = DeleteTopicState(name=None, topic_id=broker.server.node.metadata.topic_id("t"))
    results = (await broker.ask(DeleteTopicsRequest(topics=[by_name, by_id], timeout_ms=0), 6)).responses
    assert [result.name for result in results] == ["t", "t"]
    assert {result.error_code for result in results} == {ErrorCode.REQUEST_TIMED_OUT}


@on_broker()
async def test_deletions_that_cannot_be_are_told_apart(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    unknown_id = uuid.uuid4()
    asked = [
        DeleteTopicState(name="none", topic_id=ZERO_UUID),
        DeleteTopicState(name=None, topic_id=unknown_id),
    ]
    rows = (await broker.ask(DeleteTopicsRequest(topics=asked, timeout_ms=1000), 6)).responses
    assert [row.error_code for row in rows] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID]
    both = [DeleteTopicState(name="t", topic_id=unknown_id)]
    [row] = (await broker.ask(DeleteTopicsRequest(topics=both, timeout_ms=1000), 6)).responses
    assert row.error_code == ErrorCode.INVALID_REQUEST
    at_once = (await broker.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=0), 4)).responses
    assert at_once[0].error_code == ErrorCode.REQUEST_TIMED_OUT


@on_broker(delete_topic_enable="false")
async def test_deletion_can_be_switched_off(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for version, code in ((2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)):
        request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000)
        assert (await broker.ask(request, version)).responses[0].error_code == code
    assert await _code_of_name_and_id(broker) == ErrorCode.TOPIC_DELETION_DISABLED


async def _code_of_name_and_id(broker: LocalBroker) -> int:
    """Whether the topic may be deleted at all is asked first."""
    both = [DeleteTopicState(name="t", topic_id=uuid.uuid4())]
    [row] = (await broker.ask(DeleteTopicsRequest(topics=both, timeout_ms=1000), 6)).responses
    return row.error_code


@on_broker()
async def test_only_the_controller_changes_topics(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    broker.server.node.controller.active_controller_id = 9
    assert (await create(broker, new_topic("u")))["u"].error_code == ErrorCode.NOT_CONTROLLER
    assert (await grow(broker, "t", 2)).error_code == ErrorCode.NOT_CONTROLLER
    [row] = (await broker.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 3)).responses
    assert row.error_code == ErrorCode.NOT_CONTROLLER
    assert await _code_of_name_and_id(broker) == ErrorCode.NOT_CONTROLLER
    broker.server.node.controller.active_controller_id = 0


@on_broker()
async def test_growths_sent_without_waiting_for_answers_never_shrink_a_topic(broker: LocalBroker) -> None:
    await create(broker, new_topic("t", 1, 1))

    async def grow(count: int) -> int:
        topics = [CreatePartitionsTopic(name="t", count=count, assignments=None)]
        answer = await broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=5000, validate_only=False), 1)
        code: int = answer.results[0].error_code
        return code

    codes = await asyncio.gather(*(grow(count) for count in (4, 2, 5, 3)))
    refused = ErrorCode.INVALID_PARTITIONS
    assert codes == [0, refused, 0, refused]  # in the order in which they were sent
    assert await broker.store.topics.partition_count("t") == 5
    assert len(broker.server.node.metadata.partitions_of("t")) == 5


@on_broker()
async def test_extending_very_many_topics_reads_zookeeper_for_those_that_exist(broker: LocalBroker) -> None:
    await create(broker, new_topic("a", 1, 1))
    await create(broker, new_topic("b", 2, 1))
    names = ["a", "b", "twice", "twice", *(f"unknown{number}" for number in range(500))]
    topics = [CreatePartitionsTopic(name=name, count=2, assignments=None) for name in names]
    before = broker.zookeeper.requests
    answer = await broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=5000, validate_only=True), 3)
    assert broker.zookeeper.requests - before < 10
    assert [row.name for row in answer.results] == list(dict.fromkeys(names))
    codes = {row.name: row.error_code for row in answer.results}
    assert (codes.pop("a"), codes.pop("b")) == (ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS)
    assert codes.pop("twice") == ErrorCode.INVALID_REQUEST
    assert set(codes.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert answer.results[-1].error_message == "The topic 'unknown499' does not exist."


@on_broker()
async def test_extending_very_many_topics_where_there_are_none_reads_none_of_them(broker: LocalBroker) -> None:
    topics = [CreatePartitionsTopic(name=f"unknown{number}", count=2, assignments=None) for number in range(500)]
    before = broker.zookeeper.requests
    answer = await broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=5000, validate_only=False), 3)
    assert broker.zookeeper.requests - before < 10
    assert {row.error_code for row in answer.results} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@on_broker()
async def test_a_fault_of_one_topic_is_not_that_of_the_others(broker: LocalBroker) -> None:
    """A policy that fails, a znode that a tool has broken."""

    class Faulty:
        def configure(self, configs: object) -> None: ...

        def validate(self, request: RequestMetadata) -> None:
            if request.topic == "b":
                raise ZeroDivisionError

    broker.server.node.topics._policy = Faulty()
    made = await create(broker, *(new_topic(name, 1, 1) for name in "abc"))
    assert {name: row.error_code for name, row in made.items()} == {
        "a": 0, "b": ErrorCode.UNKNOWN_SERVER_ERROR, "c": 0,
    }  # fmt: skip
    await broker.store.session.set("/brokers/topics/a", b"broken")
    topics = [CreatePartitionsTopic(name=name, count=2, assignments=None) for name in "ac"]
    grown = await broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=5000, validate_only=False), 3)
    assert [(row.name, row.error_code) for row in grown.results] == [
        ("a", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("c", 0),
    ]  # fmt: skip


@on_broker()
async def test_a_failure_of_zookeeper_for_one_topic_is_not_that_of_the_others(broker: LocalBroker) -> None:
    await create(broker, *(new_topic(name, 1, 1) for name in "abcd"))
    store = broker.server.node.store
    read, mark, config = store.topics.assignment, store.topics.mark_for_deletion, store.configs.of_topic

    async def fail_for_a(topic: str, *rest: Any, of: Any, **named: Any) -> Any:
        if topic == "a":
            raise ConnectionLoss()
        return await of(topic, *rest, **named)

    store.topics.assignment = partial(fail_for_a, of=read)
    store.topics.mark_for_deletion = partial(fail_for_a, of=mark)
    store.configs.of_topic = partial(fail_for_a, of=config)
    failed = ErrorCode.UNKNOWN_SERVER_ERROR
    topics = [CreatePartitionsTopic(name=name, count=2, assignments=None) for name in "ac"]
    grown = await broker.ask(CreatePartitionsRequest(topics=topics, timeout_ms=5000, validate_only=False), 3)
    assert [(row.name, row.error_code) for row in grown.results] == [("a", failed), ("c", 0)]
    asked = [DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None) for name in "ab"]
    described = await broker.ask(DescribeConfigsRequest(resources=asked), 4)
    assert [row.error_code for row in described.results] == [failed, 0]
    deleted = await broker.ask(DeleteTopicsRequest(topic_names=["a", "d"], timeout_ms=5000), 5)
    assert [(row.name, row.error_code) for row in deleted.responses] == [("a", failed), ("d", 0)]
