"""WriteTxnMarkers: the ends of transactions are written to led partitions, each with its own outcome."""

import asyncio
import errno
import tempfile
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.handlers.records.write_txn_markers import AT_ONCE
from kafka_py.coordinator.groups.metadata_store import TOPIC as OFFSETS
from kafka_py.log.model.answers import Origin
from kafka_py.testing.fakes.files import FakeFiles
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

TRANSACTIONAL: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
T0 = TopicPartition("t", 0)


def markers(*partitions: int, commit: bool = True, topic: str = "t") -> WriteTxnMarkersRequest:
    topics = [WritableTxnMarkerTopic(name=topic, partition_indexes=list(partitions))]
    marker = WritableTxnMarker(
        producer_id=7, producer_epoch=0, transaction_result=commit, topics=topics, coordinator_epoch=3
    )
    return WriteTxnMarkersRequest(markers=[marker])


async def outcomes(broker: LocalBroker, request: WriteTxnMarkersRequest) -> dict[int, int]:
    """The error of each partition of the one topic that is named."""
    answer: Any = await broker.ask(request, 1)
    [result] = answer.markers
    return {row.partition_index: row.error_code for topic in result.topics for row in topic.partitions}


def open_transaction(broker: LocalBroker, number: int = 0, **fields: Any) -> Any:
    """A transactional batch in a partition of topic t; its log."""
    partition = broker.server.node.hosted.partitions[TopicPartition("t", number)]
    partition.append(memoryview(bytearray(batch(b"a", **{**TRANSACTIONAL, **fields}))), 1, 0, Origin.CLIENT)
    partition.maybe_raise_high_watermark(0)
    assert partition.log is not None
    return partition.log


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", [0, 1])
def test_a_marker_ends_a_transaction_that_another_leader_took(commit: bool, version: int) -> None:
    @on_broker()
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        partition = broker.server.node.hosted.partitions[T0]
        partition.append(memoryview(bytearray(batch(b"a", **TRANSACTIONAL))), 1, 0, Origin.CLIENT)
        assert partition.log is not None
        partition.maybe_raise_high_watermark(0)
        assert partition.log.last_stable_offset == 0
        answer = await broker.ask(markers(0, 5, commit=commit), version)
        [result] = answer.markers
        assert result.producer_id == 7
        codes = [(row.partition_index, row.error_code) for row in result.topics[0].partitions]
        assert codes == [(0, 0), (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
        assert (partition.log.high_watermark, partition.log.last_stable_offset) == (2, 2)
        read = partition.log.read(0, 1000, up_to_offset=2)
        assert partition.log.lookups.aborted_transactions(0, read) == ([] if commit else [(7, 0)])

    run()


@on_broker()
async def test_a_marker_is_answered_when_all_replicas_have_it(broker: LocalBroker) -> None:
    """Not before: the coordinator forgets the transaction then."""
    await broker.create_topic("t")
    partition = broker.server.node.hosted.partitions[T0]
    assert partition.log is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(partition), "maybe_raise_high_watermark", lambda self, now_ms: False)
        answer = asyncio.ensure_future(broker.ask(markers(0), 1))
        await broker.until(lambda: partition.log is not None and partition.log.log_end_offset == 1)
        assert not answer.done()
    assert partition.maybe_raise_high_watermark(0)
    broker.server.node.replicas.parked.note_change(partition, watermark_raised=True)
    assert (await answer).markers[0].topics[0].partitions[0].error_code == 0


@on_broker()
async def test_a_fenced_coordinator_writes_no_marker(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for _ in range(2):  # the same coordinator ends one transaction after the other
        assert (await broker.ask(markers(0), 1)).markers[0].topics[0].partitions[0].error_code == 0
    request = markers(0)
    request.markers[0].coordinator_epoch = 2
    [row] = (await broker.ask(request, 1)).markers[0].topics[0].partitions
    assert row.error_code == ErrorCode.TRANSACTION_COORDINATOR_FENCED


@on_broker()
async def test_no_markers_are_answered_at_once(broker: LocalBroker) -> None:
    assert (await broker.ask(WriteTxnMarkersRequest(markers=[]), 1)).markers == []


@on_broker()
async def test_a_marker_twice_is_written_twice_and_changes_nothing_more(broker: LocalBroker) -> None:
    """A coordinator that got no response sends it again; the second one ends no transaction."""
    await broker.create_topic("t")
    log = open_transaction(broker)
    for expected in (2, 3):
        assert await outcomes(broker, markers(0, commit=False)) == {0: 0}
        assert (log.log_end_offset, log.last_stable_offset) == (expected, expected)
    aborted = [entry.last_offset for segment in log.segments for entry in segment.txn_index.all_entries()]
    assert aborted == [1]


@on_broker()
async def test_a_marker_of_an_unknown_producer_is_written(broker: LocalBroker) -> None:
    """Its batches may have been deleted, or it had been added to the transaction and wrote nothing."""
    await broker.create_topic("t")
    assert await outcomes(broker, markers(0, commit=False)) == {0: 0}
    log = broker.server.node.hosted.partitions[T0].log
    assert log is not None
    assert (log.log_end_offset, log.last_stable_offset) == (1, 1)
    assert log.segments[0].txn_index.all_entries() == []
    assert log.producers.producers[7].coordinator_epoch == 3


@on_broker()
async def test_a_producer_epoch_that_is_past_is_fenced_and_ends_nothing(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    log = open_transaction(broker, producer_epoch=1)
    assert await outcomes(broker, markers(0)) == {0: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert log.last_stable_offset == 0


@on_broker()
async def test_a_later_producer_epoch_ends_the_transaction_and_fences_what_follows(broker: LocalBroker) -> None:
    """The coordinator ends a transaction that has taken too long in an epoch that its producer does not know."""
    await broker.create_topic("t")
    log = open_transaction(broker)
    request = markers(0, commit=False)
    request.markers[0].producer_epoch = 1
    assert await outcomes(broker, request) == {0: 0}
    assert log.last_stable_offset == 2
    answer = await broker.produce("t", batch(b"late", producer_id=7, producer_epoch=0, base_sequence=1))
    assert answer.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@on_broker()
async def test_each_partition_has_its_own_outcome(broker: LocalBroker) -> None:
    await broker.create_topic("t", 3)
    open_transaction(broker, 1, producer_epoch=5)
    assert await outcomes(broker, markers(2, 1, 9, 0)) == {
        2: 0, 1: ErrorCode.INVALID_PRODUCER_EPOCH, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0: 0,
    }  # fmt: skip


@on_broker()
async def test_too_few_replicas_in_sync_refuse_a_marker(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"min.insync.replicas": "2"})
    assert await outcomes(broker, markers(0)) == {0: ErrorCode.NOT_ENOUGH_REPLICAS}


@on_broker()
async def test_a_topic_of_an_old_format_takes_no_marker(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"message.format.version": "0.10.2"})
    assert await outcomes(broker, markers(0)) == {0: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT}


@on_broker(request_timeout_ms=200)
async def test_replicas_that_do_not_follow_in_time_are_an_error_of_the_partition(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    partition = broker.server.node.hosted.partitions[T0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(partition), "maybe_raise_high_watermark", lambda self, now_ms: False)
        assert await outcomes(broker, markers(0)) == {0: ErrorCode.REQUEST_TIMED_OUT}


@on_broker()
async def test_a_leader_that_resigned_takes_no_marker(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    partition = broker.server.node.hosted.partitions[T0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "is_leader", False)
        assert await outcomes(broker, markers(0)) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}


@pytest.mark.parametrize("where", [".log", ".txnindex"])
def test_a_disk_that_fails_under_a_marker_costs_its_own_partitions(where: str) -> None:
    async def run(folder: str) -> None:
        files = FakeFiles()
        settings = {"log.dirs": "/one,/two", "log.index.size.max.bytes": "4096"}
        broker = LocalBroker(folder, FakeZookeeper(), settings, files=files)
        await broker.start()
        try:
            await broker.create_topic("t", 2)
            directories = {}
            for number in (0, 1):
                directories[open_transaction(broker, number).log_dir] = number
            files.fail("write", errno.EIO, path="/one/", after=1 if where == ".txnindex" else 0, times=1 << 30)
            assert await outcomes(broker, markers(0, 1, commit=False)) == {
                directories["/one"]: ErrorCode.KAFKA_STORAGE_ERROR, directories["/two"]: 0,
            }  # fmt: skip
        finally:
            files.heal()
            await broker.stop()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(folder))


@on_broker(offsets_topic_num_partitions=1)
async def test_a_marker_in_the_offsets_topic_is_heard_of_when_it_is_acknowledged(broker: LocalBroker) -> None:
    await broker.create_topic(OFFSETS)
    heard = []
    groups = broker.server.node.coordinators.groups
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups, "complete_txn", lambda partition, end: heard.append((partition, end)))
        assert await outcomes(broker, markers(0, topic=OFFSETS)) == {0: 0}
        assert heard == [(0, (7, 0, True))]
        assert await outcomes(broker, markers(1, topic=OFFSETS)) == {1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert len(heard) == 1


@on_broker(offsets_topic_num_partitions=1)
async def test_offsets_that_cannot_be_decided_are_an_error_of_the_partition(broker: LocalBroker) -> None:
    await broker.create_topic(OFFSETS)

    def fail(_partition: int, _end: object) -> None:
        raise RuntimeError("no memory")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker.server.node.coordinators.groups, "complete_txn", fail)
        assert await outcomes(broker, markers(0, topic=OFFSETS)) == {0: ErrorCode.UNKNOWN_SERVER_ERROR}


@on_broker()
async def test_results_of_one_producer_are_together_and_a_partition_named_twice_gets_one_marker(
    broker: LocalBroker,
) -> None:
    await broker.create_topic("t", 2)
    request = markers(0, 0)
    request.markers.append(markers(1).markers[0])
    assert await outcomes(broker, request) == {0: 0, 1: 0}
    for number in (0, 1):
        log = broker.server.node.hosted.partitions[TopicPartition("t", number)].log
        assert log is not None and log.log_end_offset == 1


@on_broker()
async def test_more_markers_than_one_turn_takes_are_all_written(broker: LocalBroker) -> None:
    count = 2 * AT_ONCE + 5
    await broker.create_topic("t", count)
    request = markers(*range(count))
    other = markers(*range(3)).markers[0]
    other.producer_id = 8
    request.markers.append(other)
    answer = await broker.ask(request, 1)
    found = [(result.producer_id, [row.error_code for row in result.topics[0].partitions]) for result in answer.markers]
    assert found == [(7, [0] * count), (8, [0] * 3)]


@on_broker(inter_broker_protocol_version="0.10.2")
async def test_a_protocol_without_transactions_has_no_markers(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert await outcomes(broker, markers(0)) == {0: ErrorCode.UNSUPPORTED_VERSION}
