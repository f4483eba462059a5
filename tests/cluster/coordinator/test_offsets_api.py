"""FindCoordinator, OffsetCommit, OffsetFetch and OffsetDelete over the wire, in every version."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SETTINGS = {
    "offsets_topic_replication_factor": 1,
    "offsets_topic_num_partitions": 5,
    "group_initial_rebalance_delay_ms": 0,
}
GROUP = "g"


async def coordinated(broker: LocalBroker, *groups: str) -> None:
    """Waits until the broker coordinates the groups."""

    async def serves(group: str) -> bool:
        found = await broker.ask(FindCoordinatorRequest(key=group, key_type=0), 3)
        return not found.error_code and not (await fetch(broker, group=group, version=5)).error_code

    for group in groups or (GROUP,):
        await until(lambda group=group: serves(group))  # type: ignore[misc]


async def until(condition: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    """Asks again and again."""
    async with asyncio.timeout(30):
        while not await condition():  # noqa: ASYNC110  # the broker is asked over the wire
            await asyncio.sleep(0.01)


async def commit(
    broker: LocalBroker, offset: int, version: int = 8, partition: int = 0, topic: str = "t", **fields: Any
) -> ErrorCode:
    """Of one partition."""
    row = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=fields.pop("metadata", None)
    )
    for name in ("committed_leader_epoch", "commit_timestamp"):
        if name in fields:
            setattr(row, name, fields.pop(name))
    values = {"group_id": GROUP, "member_id": "", "topics": [OffsetCommitRequestTopic(name=topic, partitions=[row])]}
    response = await broker.ask(OffsetCommitRequest(**(values | fields)), version)
    return ErrorCode(response.topics[0].partitions[0].error_code)


async def fetch(
    broker: LocalBroker, *, group: str = GROUP, version: int = 7, topic: str | None = None, partitions: int = 1
) -> Any:
    topics = None if topic is None else [OffsetFetchRequestTopic(name=topic, partition_indexes=list(range(partitions)))]
    return await broker.ask(OffsetFetchRequest(group_id=group, topics=topics), version)


async def committed(broker: LocalBroker, group: str = GROUP) -> dict[TopicPartition, int]:
    response = await fetch(broker, group=group)
    assert response.error_code == 0
    return {
        TopicPartition(topic.name, row.partition_index): row.committed_offset
        for topic in response.topics
        for row in topic.partitions
    }


async def becomes(broker: LocalBroker, expected: dict[TopicPartition, int]) -> None:
    async def is_so() -> bool:
        return await committed(broker) == expected

    await until(is_so)


@on_broker(**SETTINGS | {"offsets_topic_segment_bytes": 12345})
async def test_the_first_question_makes_the_offsets_topic(broker: LocalBroker) -> None:
    """S3-053: created on first consumption, compacted, with the broker's own settings."""
    first = await broker.ask(FindCoordinatorRequest(key=GROUP, key_type=0), 3)
    assert (first.error_code, first.node_id, first.host, first.port) == (15, -1, "", -1)
    await coordinated(broker)
    found = await broker.ask(FindCoordinatorRequest(key=GROUP, key_type=0), 3)
    assert (found.error_code, found.error_message, found.node_id, found.port) == (0, "NONE", 0, broker.port)
    assert (await broker.store.configs.of_topics(["__consumer_offsets"]))["__consumer_offsets"] == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "12345",
    }
    assert len(broker.server.node.metadata.partitions_of("__consumer_offsets")) == 5


@on_broker(**SETTINGS | {"offsets_topic_replication_factor": 3})
async def test_without_brokers_enough_for_its_replicas_there_is_no_offsets_topic(broker: LocalBroker) -> None:
    for _ in range(3):
        answer = await broker.ask(FindCoordinatorRequest(key=GROUP, key_type=0), 3)
        assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not await broker.store.topics.exists("__consumer_offsets")


@on_broker(**SETTINGS)
async def test_what_is_neither_a_group_nor_a_transactional_id_has_no_coordinator(broker: LocalBroker) -> None:
    assert (await broker.ask(FindCoordinatorRequest(key="t", key_type=2), 3)).error_code == ErrorCode.INVALID_REQUEST


@on_broker(**SETTINGS)
async def test_what_was_committed_is_fetched_in_every_version(broker: LocalBroker) -> None:
    await broker.create_topic("t", 3)
    await coordinated(broker)
    for version in range(1, 9):
        fields: dict[str, Any] = {"committed_leader_epoch": 4} if version >= 6 else {}
        assert await commit(broker, 100 + version, version, metadata="höre", **fields) is ErrorCode.NONE
        for asked in range(1, 8):
            response = await fetch(broker, version=asked, topic="t", partitions=2)
            row, absent = response.topics[0].partitions
            assert (row.committed_offset, row.metadata, row.error_code) == (100 + version, "höre", 0)
            assert row.committed_leader_epoch == (4 if version >= 6 and asked >= 5 else -1)
            assert (absent.committed_offset, absent.metadata, absent.error_code) == (-1, "", 0)
    assert await committed(broker) == {TopicPartition("t", 0): 108}
    assert await commit(broker, 1, metadata=None) is ErrorCode.NONE
    assert (await fetch(broker, topic="t")).topics[0].partitions[0].metadata == ""


@on_broker(**SETTINGS)
async def test_version_0_keeps_offsets_in_zookeeper(broker: LocalBroker) -> None:
    """X-007: /consumers/<group>/offsets."""
    await broker.create_topic("t", 2)
    assert await commit(broker, 42, version=0) is ErrorCode.NONE
    assert await commit(broker, 43, version=0) is ErrorCode.NONE
    assert (await broker.session.get("/consumers/g/offsets/t/0"))[0] == b"43"
    found, absent, unknown = (await fetch(broker, version=0, topic="t", partitions=3)).topics[0].partitions
    assert (found.committed_offset, found.error_code) == (43, 0)
    assert (absent.committed_offset, absent.error_code) == (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await commit(broker, 1, version=0, topic="none") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await commit(broker, 1, version=0, metadata="x" * 5000) is ErrorCode.OFFSET_METADATA_TOO_LARGE


@on_broker(**SETTINGS)
async def test_a_commit_of_very_many_partitions_is_answered_when_it_is_stored(broker: LocalBroker) -> None:
    known = 300  # more than are put into the batch in one step
    await broker.create_topic("t", known)
    await coordinated(broker)
    rows = [
        OffsetCommitRequestPartition(partition_index=number, committed_offset=5, committed_metadata=None)
        for number in range(1500)
    ]
    topics = [OffsetCommitRequestTopic(name="t", partitions=rows)]
    answer = await broker.ask(OffsetCommitRequest(group_id=GROUP, member_id="", topics=topics), 8)
    codes = [row.error_code for row in answer.topics[0].partitions]
    assert codes == [ErrorCode.NONE] * known + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * (1500 - known)
    assert await committed(broker) == {TopicPartition("t", number): 5 for number in range(known)}


@on_broker(**SETTINGS)
async def test_each_partition_has_its_own_error(broker: LocalBroker) -> None:
    await broker.create_topic("t", 1)
    await coordinated(broker)
    assert await commit(broker, 1, partition=7) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await commit(broker, 1, topic="none") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await commit(broker, 1, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert await commit(broker, 1, metadata="ü" * 4096) is ErrorCode.NONE
    assert await commit(broker, 1, metadata="\N{GRINNING FACE}" * 2049) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    for metadata in ("m", "x" * 4097):  # the member is checked first
        code = await commit(broker, 1, generation_id=3, member_id="m", metadata=metadata)
        assert code is ErrorCode.UNKNOWN_MEMBER_ID
    assert await commit(broker, 1, group_id="new", generation_id=3, member_id="m") in (
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )
    await broker.create_topic("u", 1)
    rows = [OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata=None)]
    topics = [OffsetCommitRequestTopic(name=name, partitions=rows) for name in ("none", "u")]
    answer = await broker.ask(OffsetCommitRequest(group_id=GROUP, member_id="", topics=topics), 8)
    assert [topic.partitions[0].error_code for topic in answer.topics] == [3, 0]
    assert (await broker.ask(OffsetCommitRequest(group_id=GROUP, member_id="", topics=[]), 8)).topics == []


@on_broker(**SETTINGS)
async def test_a_group_that_nobody_knows_has_no_offsets_and_no_error(broker: LocalBroker) -> None:
    await coordinated(broker, "nobody")
    assert (await fetch(broker, group="nobody")).topics == []
    row = (await fetch(broker, group="nobody", topic="t")).topics[0].partitions[0]
    assert (row.committed_offset, row.error_code) == (-1, 0)


@on_broker(**SETTINGS)
async def test_before_there_is_a_coordinator_commits_are_refused(broker: LocalBroker) -> None:
    await broker.create_topic("t", 1)
    assert await commit(broker, 1) is ErrorCode.NOT_COORDINATOR
    assert (await fetch(broker, version=2)).error_code == ErrorCode.NOT_COORDINATOR
    assert (await fetch(broker, version=1, topic="t")).topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR


async def join(broker: LocalBroker, topics: list[str], protocol_type: str = "consumer") -> tuple[str, int]:
    """One member, its assignment in place; its id and generation."""
    metadata = encode_versioned(ConsumerProtocolSubscription(topics=topics), 1)
    request = JoinGroupRequest(
        group_id=GROUP, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id="",
        protocol_type=protocol_type, protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )  # fmt: skip
    joined = await broker.ask(request, 3)
    assert joined.error_code == 0
    assignment = SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")
    sync = SyncGroupRequest(
        group_id=GROUP, generation_id=joined.generation_id, member_id=joined.member_id, assignments=[assignment]
    )
    assert (await broker.ask(sync, 2)).error_code == 0
    return joined.member_id, joined.generation_id


@on_broker(**SETTINGS)
async def test_members_commit_in_their_generation_alone(broker: LocalBroker) -> None:
    await broker.create_topic("t", 1)
    await coordinated(broker)
    member, generation = await join(broker, ["t"])
    assert await commit(broker, 7, member_id=member, generation_id=generation) is ErrorCode.NONE
    assert await commit(broker, 8, member_id=member, generation_id=generation + 1) is ErrorCode.ILLEGAL_GENERATION
    assert await commit(broker, 8, member_id="x", generation_id=generation) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await commit(broker, 8) is ErrorCode.UNKNOWN_MEMBER_ID
    assert await committed(broker) == {TopicPartition("t", 0): 7}


async def delete(broker: LocalBroker, *topics: str, group: str = GROUP) -> Any:
    rows = [
        OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        for name in topics
    ]
    return await broker.ask(OffsetDeleteRequest(group_id=group, topics=rows), 0)


@on_broker(**SETTINGS)
async def test_offsets_of_topics_that_members_read_are_not_deleted(broker: LocalBroker) -> None:
    """KIP-496."""
    for topic in ("t", "u"):
        await broker.create_topic(topic, 1)
    await coordinated(broker)
    assert (await delete(broker, "t")).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (await delete(broker, "t", group="")).error_code == ErrorCode.INVALID_GROUP_ID
    member, generation = await join(broker, ["t"])
    for topic in ("t", "u"):
        assert await commit(broker, 7, topic=topic, member_id=member, generation_id=generation) is ErrorCode.NONE
    answer = await delete(broker, "t", "u", "none")
    assert [topic.partitions[0].error_code for topic in answer.topics] == [
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert await committed(broker) == {TopicPartition("t", 0): 7}


@on_broker(**SETTINGS)
async def test_groups_of_another_kind_keep_their_offsets_while_they_have_members(broker: LocalBroker) -> None:
    await broker.create_topic("t", 1)
    await coordinated(broker)
    await join(broker, [], protocol_type="connect")
    assert (await delete(broker, "t")).error_code == ErrorCode.NON_EMPTY_GROUP


@on_broker(**SETTINGS)
async def test_the_offsets_of_a_deleted_topic_go_with_it(broker: LocalBroker) -> None:
    for topic in ("t", "u"):
        await broker.create_topic(topic, 1)
    await coordinated(broker)
    for topic in ("t", "u"):
        await commit(broker, 5, topic=topic)
    response = await broker.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000), 5)
    assert response.responses[0].error_code == 0
    await becomes(broker, {TopicPartition("u", 0): 5})


@on_broker(**SETTINGS | {"offsets_retention_check_interval_ms": 20})
async def test_offsets_that_were_asked_to_expire_do(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    await coordinated(broker)
    assert await commit(broker, 1, version=4, partition=1) is ErrorCode.NONE
    assert await commit(broker, 1, version=4, retention_time_ms=1) is ErrorCode.NONE
    await becomes(broker, {TopicPartition("t", 1): 1})


def test_a_restarted_broker_knows_every_acknowledged_commit() -> None:
    async def scenario(folder: str) -> None:
        broker = LocalBroker(folder, FakeZookeeper(), {key.replace("_", "."): str(v) for key, v in SETTINGS.items()})
        await broker.start()
        await broker.create_topic("t", 1)
        groups = [f"group-{number}" for number in range(20)]
        await coordinated(broker, *groups)
        for number, group in enumerate(groups):
            assert await commit(broker, number, group_id=group) is ErrorCode.NONE
        await coordinated(broker, GROUP)
        member, generation = await join(broker, ["t"])
        await broker.stop()
        await broker.start()
        await coordinated(broker, *groups, GROUP)
        for number, group in enumerate(groups):
            assert await committed(broker, group) == {TopicPartition("t", 0): number}
        assert await commit(broker, 9, member_id=member, generation_id=generation) is ErrorCode.NONE, "it is a member"
        await broker.stop()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(folder))


def test_the_offsets_topic_stays_small_however_often_groups_commit() -> None:
    async def scenario(folder: str) -> None:
        settings = {key.replace("_", "."): str(value) for key, value in SETTINGS.items()}
        settings |= {"offsets.topic.segment.bytes": "2000", "log.cleaner.backoff.ms": "20"}
        settings |= {"offsets.topic.num.partitions": "1"}
        broker = LocalBroker(folder, FakeZookeeper(), settings)
        await broker.start()
        await broker.create_topic("t", 1)
        await coordinated(broker, "a", "b")
        for offset in range(300):
            assert await commit(broker, offset, group_id="ab"[offset % 2]) is ErrorCode.NONE
        log = broker.server.node.log_dirs.get(TopicPartition("__consumer_offsets", 0))
        assert log is not None
        kept = log
        await broker.until(lambda: kept.size_bytes < 6000 and kept.compaction.cleaned_to > 250)
        assert log.log_end_offset == 300
        await broker.stop()
        await broker.start()
        await coordinated(broker, "a", "b")
        assert await committed(broker, "a") == {TopicPartition("t", 0): 298}
        assert await committed(broker, "b") == {TopicPartition("t", 0): 299}
        log = broker.server.node.log_dirs.get(TopicPartition("__consumer_offsets", 0))
        assert log is not None and log.compaction.cleaned_to > 250
        await broker.stop()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(folder))
