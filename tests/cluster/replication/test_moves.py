"""Replicas that move between the log directories of one broker (KIP-113), while they are written and read."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.testing.local_broker import LocalBroker, batch, in_folder
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_py.wire.messages.describe_log_dirs import DescribeLogDirsRequest

T0 = TopicPartition("t", 0)


def on_two_directories(test: Callable[[LocalBroker, str, str], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A broker with two log directories and topic t, whose log lies in the first of the two that the test gets."""

    async def run(folder: str) -> None:
        directories = f"{folder}/one", f"{folder}/two"
        broker = LocalBroker(folder, FakeZookeeper(), {"log.dirs": ",".join(directories)})
        await broker.start()
        try:
            await broker.create_topic("t", configs={"segment.bytes": "20000", "file.delete.delay.ms": "100"})
            here = log_of(broker).log_dir
            (there,) = set(directories) - {here}
            await test(broker, here, there)
        finally:
            await broker.stop()

    return in_folder(run, test)


def log_of(broker: LocalBroker) -> PartitionLog:
    log = broker.server.node.log_dirs.get(T0)
    assert log is not None
    return log


async def move(broker: LocalBroker, directory: str, topic: str = "t", partition: int = 0) -> ErrorCode:
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[partition])]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=directory, topics=topics)])
    response = await broker.ask(request, 2)
    return ErrorCode(response.results[0].partitions[0].error_code)


async def described(broker: LocalBroker) -> dict[str, list[tuple[int, int, bool]]]:
    """By directory: (partition, lag, whether it is on the way) of topic t."""
    response = await broker.ask(DescribeLogDirsRequest(topics=None), 2)
    return {
        one.log_dir: [
            (log.partition_index, log.offset_lag, log.is_future_key)
            for topic in one.topics if topic.name == "t" for log in topic.partitions
        ]
        for one in response.results
    }  # fmt: skip


async def fill(broker: LocalBroker, batches: int = 200) -> None:
    for number in range(batches):
        answer = await broker.produce("t", batch(b"%d" % number + b"x" * 400))
        assert answer.error_code == 0


def held(log: PartitionLog) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(Path(log.directory).glob("*.log")))


@on_two_directories
async def test_a_moved_replica_is_the_same_to_the_byte(broker: LocalBroker, here: str, there: str) -> None:
    await fill(broker)
    log = log_of(broker)
    before, epochs, watermark = held(log), log.epochs.entries(), log.high_watermark
    assert await move(broker, there) is ErrorCode.NONE
    await broker.until(lambda: log_of(broker).log_dir == there)
    moved = log_of(broker)
    assert (held(moved), moved.epochs.entries(), moved.high_watermark) == (before, epochs, watermark)
    assert await described(broker) == {here: [], there: [(0, 0, False)]}
    await fill(broker, 1)
    assert (await broker.fetch("t", 200)).error_code == 0
    await broker.until(lambda: not [path for path in Path(here).iterdir() if path.name.startswith("t-0")])


@on_two_directories
async def test_producers_and_consumers_do_not_notice(broker: LocalBroker, here: str, there: str) -> None:
    await fill(broker, 50)
    for directory in (there, here, there):
        assert await move(broker, directory) is ErrorCode.NONE
        await fill(broker, 20)
        await broker.until(lambda wanted=directory: log_of(broker).log_dir == wanted)
    answer = await broker.fetch("t", 0, partition_max_bytes=1 << 24, max_bytes=1 << 24)
    assert (answer.error_code, answer.high_watermark) == (0, 110)


@on_two_directories
async def test_a_throttled_move_can_be_watched_and_called_off(broker: LocalBroker, here: str, there: str) -> None:
    await fill(broker)
    mover = broker.server.node.replication.mover
    mover.throttle.set_limit(1)
    assert await move(broker, there) is ErrorCode.NONE
    await broker.until(lambda: mover.moving[T0].future.log_end_offset > 0)
    (lag,) = [lag for _, lag, is_future in (await described(broker))[there] if is_future]
    assert 0 < lag < 200
    assert mover.max_lag() == lag
    assert await move(broker, here) is ErrorCode.NONE
    assert T0 not in mover.moving
    assert await described(broker) == {here: [(0, 0, False)], there: []}


@on_two_directories
async def test_a_move_goes_on_after_a_restart(broker: LocalBroker, here: str, there: str) -> None:
    await fill(broker)
    broker.server.node.replication.mover.throttle.set_limit(1)
    assert await move(broker, there) is ErrorCode.NONE
    await broker.until(lambda: broker.server.node.replication.mover.moving[T0].future.log_end_offset > 0)
    before = held(log_of(broker))
    await broker.stop()
    await broker.start()
    await broker.until(lambda: log_of(broker).log_dir == there)
    assert held(log_of(broker)) == before


@on_two_directories
async def test_what_is_deleted_while_it_moves_leaves_nothing(broker: LocalBroker, here: str, there: str) -> None:
    await fill(broker)
    broker.server.node.replication.mover.throttle.set_limit(1)
    assert await move(broker, there) is ErrorCode.NONE
    await broker.store.topics.mark_for_deletion("t")
    await broker.until(lambda: not [path for one in (here, there) for path in Path(one).glob("t-0*")])


@on_two_directories
async def test_a_move_that_cannot_be_is_refused(broker: LocalBroker, here: str, there: str) -> None:
    assert await move(broker, f"{there}-not") is ErrorCode.LOG_DIR_NOT_FOUND
    assert await move(broker, "two") is ErrorCode.LOG_DIR_NOT_FOUND
    assert await move(broker, there, "unknown") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await move(broker, there, "x" * 249) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert await move(broker, here) is ErrorCode.NONE
    assert await described(broker) == {here: [(0, 0, False)], there: []}


@on_two_directories
async def test_a_partition_that_is_not_here_yet_is_made_where_it_was_wanted(
    broker: LocalBroker, here: str, there: str
) -> None:
    for directory in (here, there):
        topic = f"later-{Path(directory).name}"
        assert await move(broker, directory, topic) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await broker.create_topic(topic)
        log = broker.server.node.log_dirs.get(TopicPartition(topic, 0))
        assert log is not None
        assert log.log_dir == directory


@on_two_directories
async def test_a_move_waits_until_the_epochs_are_on_disk(broker: LocalBroker, here: str, there: str) -> None:
    """A write under the old name after the directory was renamed took the whole directory offline."""
    for _ in range(5):
        for directory in (there, here):
            assert await move(broker, directory) is ErrorCode.NONE
            await broker.until(lambda wanted=directory: log_of(broker).log_dir == wanted)
    path = Path(log_of(broker).directory)
    epochs = path / "leader-epoch-checkpoint"
    await broker.until(lambda: epochs.exists() and epochs.read_text().split() == ["0", "1", "0", "0"])
    await broker.until((path / "partition.metadata").exists)
    assert broker.server.node.log_dirs.offline_directories == []
