"""Disks of a running broker that fill up or fail: storage errors for what is on them, everything else goes on."""

import asyncio
import errno
import os
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.fakes.files import FakeFiles
from kafka_py.testing.local_broker import LocalBroker, batch, in_folder
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

Scenario = Callable[[LocalBroker, FakeFiles], Coroutine[Any, Any, None]]
ALWAYS = 1 << 30


def on_two_disks(scenario: Scenario) -> Callable[[], None]:
    """A test of a broker with the log directories /one and /two on a disk in memory, and topic t, two partitions."""

    async def run(folder: str) -> None:
        files = FakeFiles()
        settings = {"log.dirs": "/one,/two", "log.index.size.max.bytes": "4096"}
        broker = LocalBroker(folder, FakeZookeeper(), settings, files=files)
        await broker.start()
        try:
            await broker.create_topic("t", 2)
            await scenario(broker, files)
        finally:
            files.heal()
            await broker.stop()

    return in_folder(run, scenario)


def directory_of(broker: LocalBroker, partition: int) -> str:
    log = broker.server.node.log_dirs.get(TopicPartition("t", partition))
    assert log is not None
    return log.log_dir


def partitions_by_directory(broker: LocalBroker) -> dict[str, int]:
    found = {directory_of(broker, partition): partition for partition in (0, 1)}
    assert found.keys() == {"/one", "/two"}
    return found


@on_two_disks
async def test_a_full_disk_costs_its_partitions_and_no_others(broker: LocalBroker, files: FakeFiles) -> None:
    places = partitions_by_directory(broker)
    lost, kept = places["/one"], places["/two"]
    for partition in (lost, kept):
        assert (await broker.produce("t", batch(b"before"), partition=partition)).error_code == 0
    files.fail("write", errno.ENOSPC, path="/one/", times=ALWAYS)
    answer = await broker.produce("t", batch(b"x" * 1000), partition=lost)
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    await broker.until(lambda: broker.server.node.log_dirs.offline_directories == ["/one"])
    assert (await broker.produce("t", batch(b"after"), partition=kept)).base_offset == 1
    row = await broker.fetch("t", 0, partition=kept)
    assert (row.error_code, row.high_watermark) == (0, 2)
    again = await broker.produce("t", batch(b"again"), partition=lost)
    assert again.error_code in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    row = await broker.fetch("t", 0, partition=lost)
    assert row.error_code in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    described = await broker.ask(DescribeLogDirsRequest(topics=None), 1)
    codes = {result.log_dir: result.error_code for result in described.results}
    assert codes == {"/one": ErrorCode.KAFKA_STORAGE_ERROR, "/two": 0}


@on_two_disks
async def test_the_controller_hears_of_it_and_new_topics_go_to_the_disk_that_works(
    broker: LocalBroker, files: FakeFiles
) -> None:
    lost = partitions_by_directory(broker)["/one"]
    files.fail("write", errno.EIO, path="/one/", times=ALWAYS)
    await broker.produce("t", batch(b"x"), partition=lost)
    await broker.until(lambda: broker.server.node.log_dirs.offline_directories == ["/one"])

    async def leader_of_lost() -> int:
        topic = next(t for t in (await broker.ask(MetadataRequest(topics=None), 9)).topics if t.name == "t")
        return next(p.leader_id for p in topic.partitions if p.partition_index == lost)

    async with asyncio.timeout(20):
        while await leader_of_lost() != -1:  # noqa: ASYNC110  # the metadata come when they come
            await asyncio.sleep(0.005)
    await broker.create_topic("new", 2)
    for partition in (0, 1):
        assert (await broker.produce("new", batch(b"v"), partition=partition)).error_code == 0
    assert {entry.name for entry in files.list("/two") if entry.is_directory} >= {"new-0", "new-1"}


@pytest.mark.parametrize("operation", ["write", "sync", "open", "read"])
def test_any_operation_that_fails_takes_at_most_the_directory_and_the_rest_goes_on(operation: str) -> None:
    @on_two_disks
    async def scenario(broker: LocalBroker, files: FakeFiles) -> None:
        places = partitions_by_directory(broker)
        for partition in (0, 1):
            await broker.produce("t", batch(b"v" * 300), partition=partition)
        files.fail(operation, errno.EIO, path="/one/", times=ALWAYS)
        for _ in range(3):
            await broker.produce("t", batch(b"x" * 300), partition=places["/one"])
            await broker.fetch("t", 0, partition=places["/one"])
        broker.server.node.log_dirs.upkeep.flush_dirty_logs()
        assert (await broker.produce("t", batch(b"after"), partition=places["/two"])).error_code == 0
        assert broker.server.node.log_dirs.live_directories in (["/two"], ["/one", "/two"])
        assert not broker.server.failed.done()

    scenario()


@on_two_disks
async def test_when_the_last_disk_is_gone_the_broker_says_so_and_ends(broker: LocalBroker, files: FakeFiles) -> None:
    files.fail("write", errno.EIO, times=ALWAYS)
    for partition in (0, 1):
        answer = await broker.produce("t", batch(b"x"), partition=partition)
        assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    async with asyncio.timeout(20):
        reason = await broker.server.failed
    assert "all log directories have failed" in reason


# A real disk of eight megabytes


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("may not mount a tmpfs here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def produce(client: WireClient, topic: str, partition: int, value: bytes) -> Any:
    data = [PartitionProduceData(index=partition, records=batch(value))]
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    return client.ask(request, 8).responses[0].partition_responses[0]


@pytest.mark.slow
def test_a_real_disk_that_fills_up(small_disk: Path, zk_chroot: str, tmp_path: Path) -> None:
    """What was acknowledged on the full disk is there when there is room again; the other disk never stops."""
    broker = BrokerProcess(tmp_path / "broker", zk_chroot, log_dirs=[small_disk / "logs", tmp_path / "large"])
    value = os.urandom(100_000)
    try:
        broker.start()
        broker.create_topic("t", 2)
        full = 0 if (small_disk / "logs" / "t-0").exists() else 1
        acknowledged = 0
        with WireClient(broker.bootstrap) as client:
            while (answer := produce(client, "t", full, value)).error_code == 0:
                acknowledged += 1
                assert acknowledged < 100
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert acknowledged > 50
            for number in range(5):
                assert produce(client, "t", 1 - full, value).base_offset == number
        assert "is offline: [Errno 28] No space left on device" in broker.output()
        assert "Traceback" not in broker.output()
        assert broker.stop() == 0
        subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
        broker.start()
        with WireClient(broker.bootstrap) as client:
            broker.wait_for(lambda: produce(client, "t", full, b"next").error_code == 0, 20, "the partition is back")
            assert produce(client, "t", full, b"next").base_offset == acknowledged + 1
    finally:
        broker.kill()
