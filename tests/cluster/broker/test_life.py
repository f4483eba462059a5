"""A broker's life: start, restart, lost sessions, failing disks, a second broker beside it."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.requests.node import Node
from kafka_py.broker.server import KafkaServer
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.log.loading.meta_properties import InconsistentBrokerId, InconsistentClusterId
from kafka_py.testing.local_broker import LocalBroker, batch, in_folder, on_broker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest
from kafka_py.zk.znodes import BrokerIdZNode

T0 = TopicPartition("t", 0)


@contextmanager
def lines_of(name: str) -> Iterator[list[str]]:
    """What a logger logs meanwhile, from INFO on."""
    logger, said = logging.getLogger(name), list[str]()
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield said
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def files_of(broker: LocalBroker) -> set[str]:
    return {entry.name for entry in Path(broker.folder, "logs").iterdir()}


@on_broker()
async def test_a_restart_keeps_records_high_watermarks_and_identity(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    await broker.produce("t", batch(b"a", b"b"))
    identity = broker.server.cluster_id, broker.server.node.metadata.topic_id("t")
    assert "meta.properties" in files_of(broker)
    await broker.stop()
    assert ".kafka_cleanshutdown" in files_of(broker)
    await broker.start()
    await broker.until(lambda: len(broker.server.node.metadata.partitions_of("t")) == 2)
    assert (broker.server.cluster_id, broker.server.node.metadata.topic_id("t")) == identity
    row = await broker.fetch("t", 0)
    assert (row.error_code, row.high_watermark) == (0, 2)
    assert (await broker.produce("t", batch(b"c"))).base_offset == 2


@on_broker()
async def test_a_broker_that_stops_leaves_no_trace_among_the_live_ones(broker: LocalBroker) -> None:
    assert await broker.store.brokers.ids() == [0]
    await broker.stop()
    assert "/brokers/ids/0" not in broker.zookeeper.tree()
    assert "/controller" not in broker.zookeeper.tree()
    await broker.start()


@on_broker()
async def test_an_expired_session_registers_anew_and_is_controller_again(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    epoch = broker.server.node.broker_epoch
    broker.session.expire()
    await broker.until(lambda: broker.server.node.broker_epoch > epoch)
    await broker.until(lambda: broker.server.node.controller.is_active)
    assert (await broker.produce("t", batch())).error_code == 0
    await broker.create_topic("after")
    assert (await broker.produce("after", batch())).error_code == 0


@on_broker()
async def test_requests_for_a_former_life_of_the_broker_are_stale(broker: LocalBroker) -> None:
    """W6.13: a request with an old controller epoch is refused."""
    epoch = broker.server.node.broker_epoch
    request = UpdateMetadataRequest(controller_id=0, controller_epoch=99, broker_epoch=epoch - 1, live_brokers=[])
    assert (await broker.ask(request, 6)).error_code == ErrorCode.STALE_BROKER_EPOCH
    request = UpdateMetadataRequest(controller_id=0, controller_epoch=0, broker_epoch=-1, live_brokers=[])
    assert (await broker.ask(request, 6)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH


@on_broker()
async def test_leader_and_isr_is_answered_flat_up_to_v4_and_by_topic_id_in_v5(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    topic_id = broker.server.node.metadata.topic_id("t")
    controller_epoch = broker.server.node.controller.epoch
    for version in range(6):
        state = LeaderAndIsrPartitionState(
            partition_index=0, controller_epoch=controller_epoch, leader=0, leader_epoch=10 + version, isr=[0],
            zk_version=0, replicas=[0],
        )  # fmt: skip
        request = LeaderAndIsrRequest(controller_id=0, controller_epoch=controller_epoch, live_leaders=[])
        if version < 2:
            state.topic_name = "t"
            request.ungrouped_partition_states = [state]
        else:
            request.topic_states = [LeaderAndIsrTopicState(topic_name="t", partition_states=[state])]
            if version >= 5:
                request.topic_states[0].topic_id = topic_id
        response = await broker.ask(request, version)
        assert response.error_code == 0
        rows = response.partition_errors if version < 5 else response.topics[0].partition_errors
        assert [(row.partition_index, row.error_code) for row in rows] == [(0, 0)]
    assert broker.server.node.hosted.partitions[T0].leader_epoch == 15


# Who it is


@on_broker(broker_id=-1)
async def test_a_broker_without_id_gets_one_from_1001_and_keeps_it(broker: LocalBroker) -> None:
    """W6.18."""
    assert broker.server.broker_id == 1001
    await broker.stop()
    await broker.start()
    assert broker.server.broker_id == 1001


@in_folder
async def test_stored_and_configured_identity_must_agree(folder: str) -> None:
    """W6.19."""
    broker = LocalBroker(folder, FakeZookeeper(), {})
    await broker.start()
    await broker.stop()
    broker.settings["broker.id"] = "5"
    with pytest.raises(InconsistentBrokerId):
        await broker.start()
    broker.settings["broker.id"] = "0"
    broker.zookeeper = FakeZookeeper()
    with pytest.raises(InconsistentClusterId):
        await broker.start()


@in_folder
async def test_two_brokers_cannot_have_one_id(folder: str) -> None:
    zookeeper = FakeZookeeper()
    first = LocalBroker(f"{folder}/1", zookeeper, {})
    await first.start()
    twin = LocalBroker(f"{folder}/2", zookeeper, {})
    with pytest.raises(ConfigError, match=r"broker\.id 0 is in use"):
        await twin.start()
    await first.stop()


@in_folder
async def test_the_session_of_a_former_life_is_waited_out(folder: str) -> None:
    zookeeper = FakeZookeeper()
    broker = LocalBroker(folder, zookeeper, {})
    await broker.start()
    port, session = broker.port, broker.session
    broker.settings["listeners"] = f"PLAINTEXT://127.0.0.1:{port}"
    leftover = zookeeper.tree()["/brokers/ids/0"]
    await broker.stop()
    ghost = zookeeper.session()
    await ghost.connect()
    await ghost.create("/brokers/ids/0", leftover, ephemeral=True)
    with lines_of("kafka_py.broker.registration") as lines:
        starting = asyncio.ensure_future(broker.start())
        await broker.until(lambda: any("Waiting for the ZooKeeper session" in line for line in lines))
        assert not starting.done()
    await ghost.close()
    await starting
    assert session is not broker.session
    assert BrokerIdZNode.decode(zookeeper.tree()["/brokers/ids/0"]).endpoints == [f"PLAINTEXT://127.0.0.1:{port}"]
    await broker.stop()


@in_folder
async def test_a_start_that_fails_gives_everything_back(folder: str) -> None:
    zookeeper = FakeZookeeper()
    first = LocalBroker(f"{folder}/1", zookeeper, {})
    await first.start()
    second = LocalBroker(f"{folder}/2", zookeeper, {"broker.id": "1", "listeners": f"PLAINTEXT://127.0.0.1:{first.port}"})
    from kafka_py.net.listener import BindFailed

    with pytest.raises(BindFailed, match="address already in use"):
        await second.start()
    assert "/brokers/ids/1" not in zookeeper.tree()
    second.settings["listeners"] = "PLAINTEXT://127.0.0.1:0"
    await second.start()
    await second.stop()
    await first.stop()


@in_folder
async def test_a_start_that_fails_at_its_end_leaves_nothing_running(folder: str) -> None:
    """When it already has a role, and copies."""
    zookeeper = FakeZookeeper()
    first, second = (LocalBroker(f"{folder}/{number}", zookeeper, {"broker.id": str(number)}) for number in (0, 1))
    await first.start()
    await second.start()
    await first.until(lambda: len(first.server.node.metadata.brokers) == 2)
    await first.create_topic("t", partitions=2, replication_factor=2)
    await second.stop()
    await first.until(lambda: not first.server.node.replication.fetchers.fetchers)
    before = asyncio.all_tasks()

    async def fail(node: Node) -> None:
        await first.until(lambda: node.replication.fetchers.fetchers)
        raise ConfigError("something that shows late")

    with pytest.MonkeyPatch.context() as patched, pytest.raises(ConfigError):
        patched.setattr(Node, "wait_cluster_known", fail)
        await second.start()
    await first.until(lambda: asyncio.all_tasks() <= before)
    await first.stop()


# Failing disks


@in_folder
async def test_a_failed_log_directory_takes_its_partitions_offline_and_no_others(folder: str) -> None:
    broker = LocalBroker(folder, FakeZookeeper(), {"log.dirs": f"{folder}/a,{folder}/b"})
    await broker.start()
    await broker.create_topic("t", 2)
    logs = {log.topic_partition.partition: log for log in broker.server.node.log_dirs.all_logs()}
    assert logs[0].log_dir != logs[1].log_dir
    broker.server.node.log_dirs._io_failed(logs[0].log_dir, OSError(5, "Input/output error"))
    await broker.until(lambda: T0 in broker.server.node.hosted.offline)
    assert (await broker.produce("t", batch(), partition=0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await broker.fetch("t", 0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await broker.fetch("t", 0, version=5)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (await broker.produce("t", batch(), partition=1)).error_code == 0
    metadata = broker.server.node.metadata
    await broker.until(lambda: metadata.partitions_of("t")[0].leader == -1)
    response = await broker.ask(MetadataRequest(topics=None), 9)
    rows = {row.partition_index: row for row in response.topics[0].partitions}
    assert rows[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert rows[0].offline_replicas == [0]
    assert rows[1].error_code == 0
    await broker.stop()


@in_folder
async def test_a_directory_that_fails_with_copies_of_moves_takes_no_partition_and_no_group_along(folder: str) -> None:
    settings = {"log.dirs": f"{folder}/a,{folder}/b", "offsets.topic.num.partitions": "1"}
    broker = LocalBroker(folder, FakeZookeeper(), {**settings, "offsets.topic.replication.factor": "1"})
    await broker.start()
    node = broker.server.node
    await broker.ask(FindCoordinatorRequest(key="g"), 2)
    await broker.until(lambda: node.coordinators.groups.runtime.owned == {0})
    offsets = TopicPartition("__consumer_offsets", 0)
    log = node.log_dirs.get(offsets)
    assert log is not None
    (other,) = (directory for directory in node.log_dirs.live_directories if directory != log.log_dir)
    node.log_dirs.futures.create(offsets, other)
    react, lost = node.log_dirs.on_failure, list[TopicPartition]()
    assert react is not None

    def reacts(directory: str, error: Exception, partitions: list[TopicPartition]) -> None:
        react(directory, error, partitions)
        lost.extend(partitions)

    node.log_dirs.on_failure = reacts
    node.log_dirs._io_failed(other, OSError(5, "Input/output error"))
    await broker.until(lambda: lost == [offsets])
    assert not node.hosted.offline
    assert node.hosted.partitions[offsets].is_leader
    assert node.coordinators.groups.runtime.owned == {0}
    await broker.stop()


@on_broker()
async def test_the_last_log_directory_ends_the_broker(broker: LocalBroker) -> None:
    log_dirs = broker.server.node.log_dirs
    log_dirs._io_failed(log_dirs.live_directories[0], OSError(5, "Input/output error"))
    assert "all log directories have failed" in await broker.server.failed


# Two brokers


@in_folder
async def test_a_second_broker_follows_what_the_first_leads(folder: str) -> None:
    zookeeper = FakeZookeeper()
    first, second = (LocalBroker(f"{folder}/{number}", zookeeper, {"broker.id": str(number)}) for number in (0, 1))
    await first.start()
    await second.start()
    await first.until(lambda: len(first.server.node.metadata.brokers) == 2)
    await first.create_topic("t", 2, replication_factor=2)
    for broker in (first, second):
        node = broker.server.node
        await broker.until(lambda node=node: len(node.hosted.partitions) == len(node.metadata.partitions_of("t")) == 2)
    leaders = {number: info.leader for number, info in second.server.node.metadata.partitions_of("t").items()}
    assert set(leaders.values()) == {0, 1}
    for broker, own in ((first, 0), (second, 1)):
        for number, leader in leaders.items():
            answer = await broker.produce("t", batch(), partition=number, acks=1)
            expected = ErrorCode.NONE if leader == own else ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert answer.error_code == expected
    await second.stop()
    await first.until(lambda: all(info.leader == 0 for info in first.server.node.metadata.partitions_of("t").values()))
    await first.stop()


@in_folder
async def test_the_second_broker_is_controller_when_the_first_stops(folder: str) -> None:
    zookeeper = FakeZookeeper()
    first, second = (LocalBroker(f"{folder}/{number}", zookeeper, {"broker.id": str(number)}) for number in (0, 1))
    await first.start()
    await second.start()
    assert first.server.node.controller.is_active
    await first.stop()
    node = second.server.node
    # Placement takes the live brokers of the metadata cache, so the new controller has to have spoken first.
    await second.until(lambda: node.controller.is_active and not node.metadata.is_live(0))
    await second.create_topic("t")
    await second.stop()


@on_broker()
async def test_a_configuration_of_a_kind_that_is_not_used_yet_does_no_harm(broker: LocalBroker) -> None:
    await broker.store.configs.change("users/alice", {"producer_byte_rate": "1"})
    await broker.store.configs.change("clients/c", {"producer_byte_rate": "1"})
    await broker.create_topic("t")
    await broker.store.configs.change("topics/t", {"segment.bytes": "1000"})
    await broker.until(lambda: broker.server.node.topic_configs.of("t").segment_bytes == 1000)


@in_folder
async def test_zookeeper_settings_that_cannot_be_met_are_refused_at_once(folder: str) -> None:
    tls = {"zookeeper.ssl.client.enable": "true", "zookeeper.ssl.truststore.location": "/none.jks"}
    for given, says in (
        ({"zookeeper.set.acl": "true"}, r"zookeeper\.set\.acl is true, but .* zookeeper\.ssl\.keystore\.location"),
        (tls, r"zookeeper\.ssl\.truststore\.location: cannot read /none\.jks"),
    ):
        config = BrokerConfig.parse({"zookeeper.connect": "x:1", "log.dirs": folder, **given})
        with pytest.raises(ConfigError, match=says):
            KafkaServer(config)
