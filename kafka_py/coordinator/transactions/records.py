"""The stored format of transactional ids: keys and values of the records in `__transaction_state`.

Converts bytes to values and back; knows no logs. Written by hand, because a coordinator reads very many of them; a
test compares this with the declared messages (wire/messages/transaction_log_record.py).
Source: docs/reference/transactions.md, section 6; docs/reference/messages.tsv (TransactionLogKey, TransactionLogValue).

Layout: int16 version 0, then the fields; strings with an int16 length, arrays with an int32 count, -1 for null. Key:
transactional id. Value: producer id int64, producer epoch int16, time-out int32, state int8, partitions (topic, array
of int32), last update int64, start int64. A null value is a tombstone.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error

from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.transactions.states import EMPTY, NEVER_WRITTEN, TransactionState
from kafka_py.coordinator.transactions.transaction import TransactionMetadata

VERSION = 0

_SHORT = Struct(">h")
_TWO_SHORTS = Struct(">hh")
_INT = Struct(">i")
_HEAD = Struct(">hqhibi")
_TIMES = Struct(">qq")
_NULL = -1
_STATES = {state.value: state for state in TransactionState if state not in NEVER_WRITTEN}


class UnknownRecordVersion(ValueError):
    """A key or value of a version, or a state, that Apache Kafka 2.8.2 does not know; a newer broker has written it."""


class DamagedRecord(ValueError):
    """A key or value that is truncated, or contains text that is not valid."""


def transaction_key(transactional_id: str) -> bytes:
    name = transactional_id.encode()
    return _TWO_SHORTS.pack(VERSION, len(name)) + name


def read_transaction_key(data: bytes) -> str:
    """The transactional id. Raises UnknownRecordVersion, DamagedRecord."""
    try:
        version, length = _TWO_SHORTS.unpack_from(data)
        _check_version("a key", version)
        if len(data) < 4 + length or length < 0:
            raise DamagedRecord(f"a key of {len(data)} bytes announces a name of {length}")
        return data[4 : 4 + length].decode()
    except (struct_error, UnicodeDecodeError) as error:
        raise DamagedRecord(f"a key cannot be read: {error}") from None


def transaction_value(metadata: TransactionMetadata) -> bytes:
    """The value of a record. The last producer id and epoch are not in it."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in metadata.partitions:
        by_topic.setdefault(topic, []).append(partition)
    head = _HEAD.pack(
        VERSION,
        metadata.producer_id,
        metadata.producer_epoch,
        metadata.timeout_ms,
        metadata.state,
        _NULL if metadata.state is EMPTY else len(by_topic),
    )
    parts = [head]
    for topic, partitions in by_topic.items():
        name = topic.encode()
        parts.append(_SHORT.pack(len(name)) + name)
        parts.append(Struct(f">i{len(partitions)}i").pack(len(partitions), *partitions))
    parts.append(_TIMES.pack(metadata.last_update_ms, metadata.start_ms))
    return b"".join(parts)


class TransactionValueReader:
    """Reads values; equal partitions and time-outs become the same objects, because a log repeats them very often."""

    __slots__ = ("_numbers", "_partitions")

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, TopicPartition] = {}
        self._numbers: dict[int, int] = {}

    def read(self, data: bytes) -> TransactionMetadata:
        """The metadata of an id, from a record's value. Raises UnknownRecordVersion, DamagedRecord."""
        try:
            if len(data) >= _SHORT.size:
                _check_version("a value", _SHORT.unpack_from(data)[0])
            _, producer_id, epoch, timeout_ms, number, count = _HEAD.unpack_from(data)
            state = _STATES.get(number)
            if state is None:
                raise UnknownRecordVersion(f"a transaction is in state {number}, which is not known")
            position = _HEAD.size
            partitions: tuple[TopicPartition, ...] = ()
            if count > 0:
                partitions, position = self._read_partitions(data, position, count)
            elif count < 0 and state is not EMPTY:
                raise DamagedRecord(f"a transaction in {state.name} has no list of partitions")
            updated_ms, start_ms = _TIMES.unpack_from(data, position)
        except (struct_error, UnicodeDecodeError) as error:
            raise DamagedRecord(f"a value cannot be read: {error}") from None
        timeout_ms = self._numbers.setdefault(timeout_ms, timeout_ms)
        return TransactionMetadata(producer_id, epoch, timeout_ms, state, partitions, updated_ms, start_ms)

    def _read_partitions(self, data: bytes, position: int, topics: int) -> tuple[tuple[TopicPartition, ...], int]:
        found: list[TopicPartition] = []
        for _ in range(topics):
            (length,) = _SHORT.unpack_from(data, position)
            position += _SHORT.size
            if length < 0:
                raise DamagedRecord(f"a topic has a name of {length} bytes")
            topic = data[position : position + length].decode()
            (count,) = _INT.unpack_from(data, position := position + length)
            position += _INT.size
            if not 0 <= count <= (len(data) - position) // _INT.size:
                raise DamagedRecord(f"{count} partitions do not fit into a value of {len(data)} bytes")
            for partition in Struct(f">{count}i").unpack_from(data, position):
                each = TopicPartition(topic, partition)
                found.append(self._partitions.setdefault(each, each))
            position += count * _INT.size
        return tuple(dict.fromkeys(found)), position


def _check_version(what: str, version: int) -> None:
    if version != VERSION:
        raise UnknownRecordVersion(f"version {version} of {what} is not known")
