"""Worked examples that take a whole broker: sizes, topics by hand, the admin calls, a policy, a shutdown."""

import asyncio
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.controller import topic_policy
from kafka_py.log.model.configs import LogConfig
from kafka_py.records.compression import Codec
from kafka_py.records.legacy import read_entry
from kafka_py.records.legacy_builder import LegacyBuilder, encode_entry
from kafka_py.records.legacy_records import read_records
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kafka_py.wire.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_py.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafka_py.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.wire.messages.metadata import MetadataRequest

TOPIC = 2
LARGEST = (1 << 20) + 12


def directories(broker: LocalBroker, topic: str) -> set[str]:
    """The topic's partition directories, those of partitions that are being deleted left out."""
    found = Path(broker.folder, "logs").glob(f"{topic}-*")
    return {each.name for each in found if not each.name.endswith("-delete")}


async def created(broker: LocalBroker, name: str, partitions: int, factor: int) -> Any:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor, assignments=[], configs=[])
    return (await broker.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7)).topics[0]


async def described(broker: LocalBroker, topic: str) -> dict[str, str | None]:
    """All settings of a topic."""
    resource = DescribeConfigsResource(resource_type=TOPIC, resource_name=topic, configuration_keys=None)
    [result] = (await broker.ask(DescribeConfigsRequest(resources=[resource]), 4)).results
    return {row.name: row.value for row in result.configs}


# Sizes


@on_broker()
async def test_we1_7_a_message_above_the_limit_is_refused_and_the_largest_is_taken(broker: LocalBroker) -> None:
    """WE1-7: RecordTooLargeException; the limit counts the whole batch."""
    await broker.create_topic("t")
    overhead = len(batch(b"v" * 1_000_000)) - 1_000_000
    largest = batch(b"v" * (LARGEST - overhead))
    assert len(largest) == LARGEST
    assert (await broker.produce("t", largest)).error_code == ErrorCode.NONE
    too_large = batch(b"v" * (LARGEST - overhead + 1))
    assert (await broker.produce("t", too_large)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert (await broker.produce("t", batch())).base_offset == 1


async def log_file_sizes(broker: LocalBroker, *batches: bytes, version: int = 8, **configs: str) -> list[int]:
    """The size of the log file after each batch. version: of the produce requests."""
    await broker.create_topic("t", configs={name.replace("_", "."): value for name, value in configs.items()})
    path = f"{broker.folder}/logs/t-0/00000000000000000000.log"
    sizes = []
    for each in batches:
        assert (await broker.produce("t", each, version=version)).error_code == 0
        sizes.append(os.path.getsize(path))  # noqa: ASYNC240  # the broker's loop has nothing else to do
    return sizes


@on_broker()
async def test_w5_4_and_w5_5_the_log_file_in_format_0(broker: LocalBroker) -> None:
    """W5.4: key="key", value="value" -> 34 B; W5.5: then value="value" without a key -> 65 B in the file."""
    entries = (encode_entry(0, 0, -1, b"key", b"value"), encode_entry(0, 0, -1, None, b"value"))
    assert await log_file_sizes(broker, *entries, version=0, message_format_version="0.8.2") == [34, 65]


@on_broker()
async def test_w5_6_the_log_file_in_format_1(broker: LocalBroker) -> None:
    """W5.6: key="key", value="value" -> 42 B; without a key 39 B more."""
    first = encode_entry(1, 0, 5, b"key", b"value")
    sizes = await log_file_sizes(broker, first, encode_entry(1, 0, 5, None, b"value"), version=2,
                                 message_format_version="0.10.0")  # fmt: skip
    assert sizes == [42, 42 + 39]


@on_broker()
async def test_w5_8_the_brokers_time_is_that_of_every_record_in_a_wrapper(broker: LocalBroker) -> None:
    """W5.8; W5.7: the wrapper has the offset of its last record."""
    await broker.create_topic(
        "t", configs={"message.format.version": "0.10.2", "message.timestamp.type": "LogAppendTime"}
    )
    builder = LegacyBuilder(1, Codec.GZIP)
    for number in range(6):
        builder.append(number, b"k", b"v")
    answer = await broker.produce("t", builder.build(), version=2)
    data = (await broker.fetch("t", 0)).record_set
    assert read_entry(data, 0).offset == 5
    found = read_records(data, 0)
    assert [record.offset for record in found] == list(range(6))
    assert {record.timestamp for record in found} == {answer.log_append_time_ms}


@on_broker()
async def test_w5_15_and_w5_17_the_log_file_grows_by_76_and_73_bytes(broker: LocalBroker) -> None:
    """W5.15: key="key", value="value" -> 76 B; W5.17: then value="value" without a key -> 73 B more."""
    assert await log_file_sizes(broker, batch(b"value", key=b"key"), batch(b"value")) == [76, 76 + 73]


@on_broker()
async def test_w5_18_ten_records_of_one_batch_take_191_bytes_on_disk(broker: LocalBroker) -> None:
    """W5.18: null key and a value of 6 bytes; as ten batches 740 bytes."""
    ten = [b"value%d" % number for number in range(10)]
    assert await log_file_sizes(broker, batch(*ten), *(batch(each) for each in ten)) == [
        191, *(191 + 74 * count for count in range(1, 11))
    ]  # fmt: skip


# Topics


@on_broker()
async def test_we4_14_a_topic_written_by_hand_gets_directories_and_a_leader(broker: LocalBroker) -> None:
    by_hand = {"version": 1, "partitions": {str(number): [0] for number in range(4)}}
    await broker.store.session.create("/brokers/topics/topic-create-zk", json.dumps(by_hand).encode())
    await broker.until(lambda: len(broker.server.node.metadata.partitions_of("topic-create-zk")) == 4)
    await broker.until(lambda: len(broker.server.node.hosted.partitions) == 4)
    assert directories(broker, "topic-create-zk") == {f"topic-create-zk-{number}" for number in range(4)}
    assert (await broker.produce("topic-create-zk", batch(), partition=3)).error_code == 0


@on_broker()
async def test_we4_15_a_topic_with_gaps_in_its_numbers_is_served(broker: LocalBroker) -> None:
    """WE4-15: partitions 10, 21, 33 and 40; through the API such an assignment is refused (test_topics.py)."""
    numbers = (10, 21, 33, 40)
    by_hand = {"version": 1, "partitions": {str(number): [0] for number in numbers}}
    await broker.store.session.create("/brokers/topics/topic-create-special", json.dumps(by_hand).encode())
    await broker.until(lambda: len(broker.server.node.metadata.partitions_of("topic-create-special")) == 4)
    await broker.until(lambda: len(broker.server.node.hosted.partitions) == 4)
    [topic] = (await broker.ask(MetadataRequest(topics=None), 9)).topics
    assert sorted(row.partition_index for row in topic.partitions) == list(numbers)
    for number in numbers:
        assert (await broker.produce("topic-create-special", batch(), partition=number)).error_code == 0


@on_broker(log_segment_delete_delay_ms=50)
async def test_we4_23_deletions_through_the_broker(broker: LocalBroker) -> None:
    """WE4-23: topic-delete goes with its directories; an unknown topic is an error."""
    await broker.create_topic("topic-delete", 2)
    assert len(directories(broker, "topic-delete")) == 2
    names = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in ("topic-delete", "topic-unknown")]
    rows = (await broker.ask(DeleteTopicsRequest(topics=names, timeout_ms=5000), 6)).responses
    assert [(row.name, ErrorCode(row.error_code).name) for row in rows] == [
        ("topic-delete", "NONE"), ("topic-unknown", "UNKNOWN_TOPIC_OR_PARTITION"),
    ]  # fmt: skip
    await broker.until(lambda: not list(Path(broker.folder, "logs").glob("topic-delete-*")))


@on_broker(log_segment_delete_delay_ms=50)
async def test_we4_24_a_znode_made_by_hand_deletes_the_topic_and_its_files(broker: LocalBroker) -> None:
    await broker.create_topic("topic-delete", 2)
    await broker.store.session.create("/admin/delete_topics/topic-delete", b"")
    await broker.until(lambda: not list(Path(broker.folder, "logs").glob("topic-delete-*")))
    await broker.until(lambda: not [path for path in broker.zookeeper.tree() if "topic-delete" in path])
    assert not broker.server.node.metadata.has_topic("topic-delete")


@on_broker()
async def test_we4_24_deletion_by_hand_in_three_steps(broker: LocalBroker) -> None:
    """WE4-24: /config/topics/<topic>, /brokers/topics/<topic>, then the directories; the name is free again."""
    await broker.create_topic("topic-delete", 1)
    await broker.produce("topic-delete", batch(b"old"))
    await broker.store.znodes.delete_recursive("/config/topics/topic-delete")
    await broker.store.znodes.delete_recursive("/brokers/topics/topic-delete")
    await broker.stop()
    for name in directories(broker, "topic-delete"):
        shutil.rmtree(Path(broker.folder, "logs", name))
    await broker.start()
    assert not await broker.store.topics.names()
    await broker.create_topic("topic-delete", 2)
    assert (await broker.produce("topic-delete", batch(b"new"))).base_offset == 0


@on_broker()
async def test_we4_25_topic_admin_is_created_described_and_grown(broker: LocalBroker) -> None:
    """WE4-25: 4 partitions, factor 1; describeConfigs lists all; cleanup.policy to compact; 4 to 5 partitions."""
    made = await created(broker, "topic-admin", 4, 1)
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 4, 1)
    before = await described(broker, "topic-admin")
    assert set(before) == set(LogConfig.ROWS)
    assert before["cleanup.policy"] == "delete"
    compact = AlterableConfig(name="cleanup.policy", value="compact")
    altered = AlterConfigsResource(resource_type=TOPIC, resource_name="topic-admin", configs=[compact])
    [answer] = (await broker.ask(AlterConfigsRequest(resources=[altered], validate_only=False), 1)).responses
    assert answer.error_code == 0
    await broker.until(lambda: broker.server.node.topic_configs.of("topic-admin").is_compacted)
    assert await described(broker, "topic-admin") == {**before, "cleanup.policy": "compact"}
    grown = CreatePartitionsTopic(name="topic-admin", count=5, assignments=None)
    request = CreatePartitionsRequest(topics=[grown], timeout_ms=5000, validate_only=False)
    [result] = (await broker.ask(request, 3)).results
    assert result.error_code == 0
    assert directories(broker, "topic-admin") == {f"topic-admin-{number}" for number in range(5)}


@contextmanager
def noted(logger: str) -> Iterator[list[str]]:
    """What is logged meanwhile at INFO and above."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger(logger)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class PolicyDemo:
    """The example's policy (WE4-26): at least five partitions; fewer are refused with its words."""

    def configure(self, configs: Mapping[str, object]) -> None:
        """It has no settings."""

    def validate(self, request: topic_policy.RequestMetadata) -> None:
        if request.partitions is not None and request.partitions < 5:
            raise topic_policy.PolicyViolation(
                f"Topic should have at least 5 partitions, received: {request.partitions}"
            )


@on_broker()
async def test_we4_26_a_policy_refuses_in_its_own_words(broker: LocalBroker) -> None:
    """WE4-26: the asker is told, and the broker's log says so too."""
    broker.server.node.topics._policy = PolicyDemo()
    with noted("kafka_py.broker.handlers.admin.create_topics") as lines:
        refused = await created(broker, "topic-policy", 4, 1)
    assert lines == ["Topic topic-policy is not created: Topic should have at least 5 partitions, received: 4"]
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    assert refused.error_message == "Topic should have at least 5 partitions, received: 4"
    assert not await broker.store.topics.names()
    assert (await created(broker, "topic-policy", 5, 1)).error_code == 0


# Two brokers


def test_w6_15_a_broker_whose_shutdown_was_only_asked_for_goes_on() -> None:
    """W6.15: ControlledShutdown from outside moves the leaders away, but the process stays alive."""

    async def scenario(folder: str) -> None:
        zookeeper = FakeZookeeper()
        first, second = (LocalBroker(f"{folder}/{id_}", zookeeper, {"broker.id": str(id_)}) for id_ in (0, 1))
        await first.start()
        await second.start()
        await first.until(lambda: len(first.server.node.metadata.brokers) == 2)
        await first.create_topic("t", 2, replication_factor=2)
        known = first.server.node.metadata
        assert {info.leader for info in known.partitions_of("t").values()} == {0, 1}
        request = ControlledShutdownRequest(broker_id=1, broker_epoch=second.server.node.broker_epoch)
        response = await first.ask(request, 3)
        assert (response.error_code, response.remaining_partitions) == (0, [])
        await first.until(lambda: {info.leader for info in known.partitions_of("t").values()} == {0})
        assert (await second.ask(MetadataRequest(topics=None), 9)).topics
        assert TopicPartition("t", 0) in second.server.node.hosted.partitions
        await second.stop()
        await first.stop()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(folder))
