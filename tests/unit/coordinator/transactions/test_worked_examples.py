"""Worked examples of the transaction coordinator, by their ids. Others are in test_driver.py and test_states.py."""

from __future__ import annotations

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.records import TransactionValueReader
from kafka_py.coordinator.transactions.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    TransactionState,
)
from kafka_py.coordinator.transactions.transaction import TransactionMetadata
from kafka_py.testing.fakes.stored_logs import records_of
from kafka_py.testing.fakes.transactions import T0, T1, TransactionWorld

OFFSETS = TopicPartition("__consumer_offsets", 20)


def stored(world: TransactionWorld) -> list[TransactionMetadata]:
    """The values in the partition of the transaction topic, in order."""
    found = world.disk.log.read(0, 1 << 20, up_to_offset=world.disk.log.log_end_offset)
    assert found.slice is not None
    values = [record.value for record in records_of(found.slice.read())]
    return [TransactionValueReader().read(value) for value in values if value is not None]


def test_the_coordinator_assigns_producer_ids_and_keeps_its_state_in_the_transaction_topic() -> None:
    """S3-088."""
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.become_coordinator()
    assert world.transaction().metadata.producer_id == producer.producer_id
    assert world.transaction().state is ONGOING
    assert world.end(producer).error is ErrorCode.NONE


def test_each_new_partition_is_stored_and_the_first_one_starts_the_clock() -> None:
    """S3-095."""
    world = TransactionWorld()
    producer = world.init(timeout_ms=1000).reply
    world.clock.advance(5000)
    world.look()
    assert world.transaction().state is EMPTY, "no time-out before the first partition"
    started_ms = world.clock.wall_ms()
    world.add(producer, T0)
    world.clock.advance(900)
    world.add(producer, T1)
    world.add(producer, T0)
    assert [(each.partitions, each.start_ms) for each in stored(world)] == [
        ((), -1), ((T0,), started_ms), ((T0, T1), started_ms),
    ]  # fmt: skip
    world.clock.advance(101)
    world.look()
    assert world.transaction().state is PREPARE_ABORT


@pytest.mark.parametrize(
    ("is_commit", "decided", "complete"),
    [(True, PREPARE_COMMIT, COMPLETE_COMMIT), (False, PREPARE_ABORT, COMPLETE_ABORT)],
)
def test_the_end_is_written_then_the_markers_then_the_completion(
    is_commit: bool, decided: TransactionState, complete: TransactionState
) -> None:
    """S3-099, S3-100, W7.27: EndTxn is the request of both ends; the group's offsets get a marker as well."""
    world = TransactionWorld()
    producer = world.init().reply
    world.add(producer, T0)
    world.add(producer, OFFSETS)
    assert world.end(producer, is_commit=is_commit).error is ErrorCode.NONE
    assert [each.state for each in stored(world)] == [EMPTY, ONGOING, ONGOING, decided]
    [sent] = world.sender.sent
    assert (sent.markers.is_commit, sent.markers.partitions) == (is_commit, (T0, OFFSETS))
    world.sender.end()
    assert [each.state for each in stored(world)][4:] == [complete]
