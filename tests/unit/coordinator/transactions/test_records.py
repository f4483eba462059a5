"""The durable form of transactional ids, against the declared messages and Kafka's own bytes.

S3-092: what a record holds, and W7.27's numbers in it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.records import (
    DamagedRecord,
    TransactionValueReader,
    UnknownRecordVersion,
    read_transaction_key,
    transaction_key,
    transaction_value,
)
from kafka_py.coordinator.transactions.states import (
    COMPLETE_COMMIT,
    EMPTY,
    NEVER_WRITTEN,
    ONGOING,
    PREPARE_ABORT,
    TransactionState,
)
from kafka_py.coordinator.transactions.transaction import TransactionMetadata
from kafka_py.wire.compiler import decode, encode_versioned
from kafka_py.wire.messages.transaction_log_record import PartitionsSchema, TransactionLogKey, TransactionLogValue

GOLDEN = Path(__file__).resolve().parents[4] / "docs" / "reference" / "golden-messages.tsv.gz"
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)

partitions = st.lists(
    st.builds(TopicPartition, st.text(st.characters(codec="utf-8"), max_size=20), st.integers(0, 2**31 - 1)),
    unique=True, max_size=20,
)  # fmt: skip
longs = st.integers(-(2**63), 2**63 - 1)


@st.composite
def metadatas(draw: st.DrawFn) -> TransactionMetadata:
    state = draw(st.sampled_from([state for state in TransactionState if state not in NEVER_WRITTEN]))
    listed = () if state is EMPTY else tuple(draw(partitions))
    return TransactionMetadata(
        draw(longs), draw(st.integers(-(2**15), 2**15 - 1)), draw(st.integers(-(2**31), 2**31 - 1)), state, listed,
        draw(longs), draw(longs),
    )  # fmt: skip


def declared(metadata: TransactionMetadata) -> bytes:
    """The value as the declared message encodes it."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in metadata.partitions:
        by_topic.setdefault(topic, []).append(partition)
    rows = [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in by_topic.items()]
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=None if metadata.state is EMPTY else rows,
        transaction_last_update_timestamp_ms=metadata.last_update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
    )
    return encode_versioned(value, 0)


@settings(deadline=None)
@given(metadatas())
def test_values_are_written_as_they_are_declared_and_read_back(metadata: TransactionMetadata) -> None:
    data = transaction_value(metadata)
    assert data == declared(metadata)
    read = TransactionValueReader().read(data)
    assert read._replace(partitions=()) == metadata._replace(partitions=())
    assert sorted(read.partitions) == sorted(metadata.partitions)


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_keys_are_written_as_they_are_declared_and_read_back(transactional_id: str) -> None:
    data = transaction_key(transactional_id)
    assert data == encode_versioned(TransactionLogKey(transactional_id=transactional_id), 0)
    assert read_transaction_key(data) == transactional_id


def golden(message: str) -> list[tuple[dict[str, object], bytes]]:
    """The examples of a message as Kafka's own classes encode them: the body, without its version."""
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        rows = csv.reader(io.StringIO(lines.read()), delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(json.loads(row[2]), bytes.fromhex(row[3])) for row in rows if row[0] == message]


def test_keys_of_apache_kafka_are_read_and_written_the_same() -> None:
    examples = golden("TransactionLogKey")
    assert examples
    for _, body in examples:
        data = b"\0\0" + body
        assert transaction_key(read_transaction_key(data)) == data


def test_values_of_apache_kafka_are_read_as_declared() -> None:
    examples = golden("TransactionLogValue")
    assert examples
    known = {state.value for state in TransactionState} - set(NEVER_WRITTEN)
    for _, body in examples:
        said = decode(TransactionLogValue, 0, body)
        has_partitions = said.transaction_partitions is not None or said.transaction_status == EMPTY
        if said.transaction_status in known and has_partitions:
            read = TransactionValueReader().read(b"\0\0" + body)
            assert (read.producer_id, read.producer_epoch) == (said.producer_id, said.producer_epoch)
            assert (read.last_update_ms, read.start_ms) == (
                said.transaction_last_update_timestamp_ms,
                said.transaction_start_timestamp_ms,
            )


def test_a_record_in_bytes() -> None:
    metadata = TransactionMetadata(1000, 3, 60_000, ONGOING, (T0, U0, T1), 1_600_000_000_100, 1_600_000_000_000)
    assert transaction_value(metadata).hex() == (
        "0000" "00000000000003e8" "0003" "0000ea60" "01"
        "00000002" "0001" "74" "00000002" "00000000" "00000001" "0001" "75" "00000001" "00000000"
        "00000174876e8064" "00000174876e8000"
    )  # fmt: skip
    assert TransactionValueReader().read(transaction_value(metadata)).partitions == (T0, T1, U0)


def test_partitions_are_null_in_empty_and_an_empty_list_when_complete() -> None:
    empty = TransactionMetadata(1, 0, 1, EMPTY, (), 5, -1)
    complete = TransactionMetadata(1, 0, 1, COMPLETE_COMMIT, (), 5, 3)
    assert transaction_value(empty)[17:21] == b"\xff\xff\xff\xff"
    assert transaction_value(complete)[17:21] == b"\0\0\0\0"


@pytest.mark.parametrize("version", [b"\0\1", b"\xff\xff", b"\1\0"])
def test_another_version_is_not_guessed_at(version: bytes) -> None:
    with pytest.raises(UnknownRecordVersion, match="version"):
        read_transaction_key(version + transaction_key("tx")[2:])
    with pytest.raises(UnknownRecordVersion, match="version"):
        TransactionValueReader().read(version + b"anything")


@pytest.mark.parametrize("number", [6, 7, 8, -1])
def test_a_state_that_is_never_written_is_not_guessed_at(number: int) -> None:
    data = bytearray(transaction_value(TransactionMetadata(1, 0, 1, ONGOING, (T0,), 5, 3)))
    data[16] = number & 0xFF
    with pytest.raises(UnknownRecordVersion, match=f"state {number}"):
        TransactionValueReader().read(bytes(data))


@given(metadatas(), st.data())
def test_a_value_that_is_cut_short_is_damaged(metadata: TransactionMetadata, data: st.DataObject) -> None:
    whole = transaction_value(metadata)
    length = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(DamagedRecord):
        TransactionValueReader().read(whole[:length])


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), st.data())
def test_a_key_that_is_cut_short_is_damaged(name: str, data: st.DataObject) -> None:
    whole = transaction_key(name)
    with pytest.raises(DamagedRecord):
        read_transaction_key(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(st.binary(max_size=200))
def test_any_other_bytes_are_damaged_or_unknown(data: bytes) -> None:
    for read in (read_transaction_key, TransactionValueReader().read):
        try:
            read(b"\0\0" + data)
        except (DamagedRecord, UnknownRecordVersion):
            pass


def test_a_running_transaction_needs_its_partitions() -> None:
    data = bytearray(transaction_value(TransactionMetadata(1, 0, 1, PREPARE_ABORT, (), 5, 3)))
    data[17:21] = b"\xff\xff\xff\xff"
    with pytest.raises(DamagedRecord, match="PREPARE_ABORT has no list"):
        TransactionValueReader().read(bytes(data))


def test_equal_partitions_and_time_outs_are_one_object() -> None:
    reader = TransactionValueReader()
    data = transaction_value(TransactionMetadata(1, 0, 60_000, ONGOING, (T0,), 5, 3))
    first, second = reader.read(data), reader.read(data)
    assert first.partitions[0] is second.partitions[0]
    assert first.timeout_ms is second.timeout_ms
