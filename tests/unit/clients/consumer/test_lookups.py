"""What a consumer asks about topics that it does not read: they are wanted while a question is under way."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import AsyncConsumer, OffsetAndTimestamp
from kafka_py.clients.consumer.lookups import WantedTopics
from kafka_py.testing.fakes.fake_answers import answer_metadata
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.metadata import MetadataRequest

A = TopicPartition("t", 0)
T = TypeVar("T")


def ask(cluster: MemoryCluster, question: Callable[[AsyncConsumer], Coroutine[Any, Any, T]]) -> T:
    async def run() -> T:
        environment = MemoryWires(cluster).environment(virtual_clock())
        settings = {"bootstrap.servers": "h:9092", "allow.auto.create.topics": False}
        async with AsyncConsumer(settings, environment=environment) as consumer:
            return await question(consumer)

    return run_virtual(run())


def test_what_is_wanted_twice_is_wanted_until_both_are_done() -> None:
    wanted = WantedTopics()
    wanted.add(["a", "b"])
    wanted.add(["a"])
    wanted.add(None)
    assert (set(wanted.names), wanted.all) == ({"a", "b"}, True)
    wanted.remove(["a", "b"])
    wanted.remove(None)
    assert (set(wanted.names), wanted.all) == ({"a"}, False)


def test_a_topic_that_does_not_exist_has_no_partitions() -> None:
    cluster = MemoryCluster()
    cluster.create_topic("t", 2)
    assert [each.partition for each in ask(cluster, lambda consumer: consumer.partitions_for("t"))] == [0, 1]
    assert ask(cluster, lambda consumer: consumer.partitions_for("nowhere")) == []


def test_a_passing_error_of_a_topic_is_waited_out_and_a_lasting_one_raised() -> None:
    cluster = MemoryCluster()
    cluster.create_topic("t")
    codes = [ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.LEADER_NOT_AVAILABLE]

    def answer(request: MetadataRequest) -> Any:
        named = bool(request.topics)
        return answer_metadata(cluster, 0, request, codes.pop(0) if named and codes else ErrorCode.NONE)

    cluster.answers[ApiKey.METADATA] = answer
    assert len(ask(cluster, lambda consumer: consumer.partitions_for("t"))) == 1
    codes.append(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError) as caught:
        ask(cluster, lambda consumer: consumer.partitions_for("t"))
    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_all_topics_are_listed_without_reading_any() -> None:
    cluster = MemoryCluster()
    for name in "ab":
        cluster.create_topic(name)
    assert set(ask(cluster, lambda consumer: consumer.list_topics())) == {"a", "b"}


def test_offsets_are_looked_up_by_time_and_at_both_ends() -> None:
    cluster = MemoryCluster()
    cluster.create_topic("t")
    cluster.partitions[A].start_offset, cluster.partitions[A].end_offset = 2, 7
    assert ask(cluster, lambda consumer: consumer.beginning_offsets([A])) == {A: 2}
    assert ask(cluster, lambda consumer: consumer.end_offsets([A])) == {A: 7}
    found: dict[TopicPartition, OffsetAndTimestamp | None] = ask(
        cluster, lambda consumer: consumer.offsets_for_times({A: 10**13})
    )
    assert found == {A: None}


def test_no_offset_is_looked_up_by_a_negative_time() -> None:
    with pytest.raises(ValueError, match="negative"):
        ask(MemoryCluster(), lambda consumer: consumer.offsets_for_times({A: -1}))
