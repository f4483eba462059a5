"""A log directory fails on one broker of several: others lead its replicas, the broker goes on with the rest."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.local_broker import LocalBroker, batch, in_folder
from kafka_py.testing.zookeeper import FakeZookeeper

PARTITIONS = 4
SETTINGS = {
    "replica.lag.time.max.ms": "1000", "replica.fetch.wait.max.ms": "50", "replica.fetch.backoff.ms": "50",
    "auto.leader.rebalance.enable": "false",
}  # fmt: skip

Story = Callable[[list[LocalBroker]], Coroutine[Any, Any, None]]


def on_two_brokers(test: Story) -> Callable[[], None]:
    """Brokers 0 and 1 with two log directories each; topic t with four partitions, each on both."""

    async def run(folder: str) -> None:
        zookeeper = FakeZookeeper()
        brokers = [
            LocalBroker(folder, zookeeper, {
                **SETTINGS, "broker.id": str(number), "log.dirs": f"{folder}/{number}/one,{folder}/{number}/two",
            })
            for number in (0, 1)
        ]  # fmt: skip
        for broker in brokers:
            await broker.start()
        try:
            for broker in brokers:
                await broker.until(lambda broker=broker: len(broker.server.node.metadata.brokers) == 2)
            await brokers[0].create_topic("t", PARTITIONS, replication_factor=2)
            for broker in brokers:
                await broker.until(lambda broker=broker: len(broker.server.node.hosted.partitions) == PARTITIONS)
            await test(brokers)
        finally:
            await asyncio.gather(*(broker.stop() for broker in brokers))

    return in_folder(run, test)


def led_by(broker: LocalBroker) -> list[TopicPartition]:
    return [partition.topic_partition for partition in broker.server.node.hosted.led_partitions()]


def fail_directory_of(broker: LocalBroker, topic_partition: TopicPartition) -> set[TopicPartition]:
    """Takes the directory of this replica offline; all the partitions that lie in it."""
    log_dirs = broker.server.node.log_dirs
    log = log_dirs.get(topic_partition)
    assert log is not None
    lost = {one.topic_partition for one in log_dirs.all_logs() if one.log_dir == log.log_dir}
    log_dirs._io_failed(log.log_dir, OSError(5, "Input/output error"))
    return lost


async def produce(brokers: Sequence[LocalBroker], topic_partition: TopicPartition) -> int:
    """To whoever leads it; the broker's number."""
    (leader,) = [number for number, one in enumerate(brokers) if topic_partition in led_by(one)]
    answer = await brokers[leader].produce("t", batch(), partition=topic_partition.partition)
    assert answer.error_code == 0
    return leader


@on_two_brokers
async def test_partitions_of_a_failed_directory_are_led_elsewhere(brokers: list[LocalBroker]) -> None:
    first, second = brokers
    mine = led_by(first)
    for topic_partition in mine:
        await produce(brokers, topic_partition)
    lost = fail_directory_of(first, mine[0])
    assert len(lost) < PARTITIONS
    await second.until(lambda: lost <= set(led_by(second)))
    for number in range(PARTITIONS):
        topic_partition = TopicPartition("t", number)
        leader = await produce(brokers, topic_partition)
        assert leader == (1 if topic_partition in lost or topic_partition not in mine else 0)
    for topic_partition in lost:
        answer = await first.produce("t", batch(), partition=topic_partition.partition)
        assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        isr = second.server.node.hosted.partitions[topic_partition].isr
        assert isr.members == {1}
    assert first.server.node.hosted.offline == lost


@on_two_brokers
async def test_a_follower_whose_directory_fails_leaves_the_isr_and_follows_the_rest(brokers: list[LocalBroker]) -> None:
    first, second = brokers
    theirs = led_by(second)
    lost = fail_directory_of(first, theirs[0])
    await second.until(lambda: second.server.node.hosted.partitions[theirs[0]].isr.members == {1})
    assert await produce(brokers, theirs[0]) == 1
    rest = next(one for one in theirs + led_by(first) if one not in lost)
    leader = await produce(brokers, rest)
    other = brokers[1 - leader].server.node.log_dirs
    await first.until(lambda: other.get(rest).log_end_offset == 1)  # type: ignore[union-attr]


@on_two_brokers
async def test_whatever_goes_wrong_with_the_loss_of_a_directory_the_controller_is_told(
    brokers: list[LocalBroker],
) -> None:
    first, second = brokers
    mine = led_by(first)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(type(first.server.node.coordinators), "lost", lambda *_: 1 // 0)
    moving = fail_directory_of(first, mine[0]).intersection(mine)
    await second.until(lambda: moving <= set(led_by(second)))
    monkeypatch.undo()
    assert moving
    assert first.server.supervisor.failures["loss of a log directory"] == 1
