"""What reads a log's bytes: batches on their way in, compressed data, snapshots and indexes.

A leader refuses with a KafkaError, a follower too; what it takes must be there after the log was reopened.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from random import Random

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.handles import OpenHandles
from kafka_py.log.model.answers import UnexpectedAppendOffset
from kafka_py.log.segments.offset_index import OffsetIndex
from kafka_py.log.segments.time_index import TimeIndex
from kafka_py.log.segments.txn_index import CorruptTxnIndex, TxnIndex
from kafka_py.log.state.producer_snapshots import CorruptSnapshot, decode_snapshot, encode_snapshot
from kafka_py.log.state.producer_state import AppendedBatch, ProducerStateEntry
from kafka_py.records.batch import CorruptBatch, iter_headers, iter_records, verify_crc
from kafka_py.records.compression import Codec, DecompressionError, compress, decompress
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.records.crc32c import crc32c
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch
from kafka_py.testing.fuzz.cases import Case

_LIMIT = 1 << 20
_APPENDS_PER_WORLD = 200
_FORESEEN = {
    ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP, ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE, ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
}  # fmt: skip
_SETTINGS: Mapping[str, dict[str, object]] = {
    "kept as it is": {},
    "compacted": {"cleanup.policy": "compact"},
    "bounded timestamps": {"message.timestamp.difference.max.ms": 1000},
    "append time": {"message.timestamp.type": "LogAppendTime"},
    "compressed anew": {"compression.type": "lz4"},
}


def log_cases(chance: Random) -> list[Case]:
    batches = _batches()
    cases = [Case("batch and its records", batches, _read_batch)]
    for name, settings in _SETTINGS.items():
        for checksum in ("as it is", "right"):
            feed = _appender(settings, checksum == "right", follower=False)
            cases.append(Case(f"append, {name}, checksum {checksum}", batches, feed))
    cases += [
        Case(f"follower's append, checksum {'right' if right else 'as it is'}", batches, _appender({}, right, True))
        for right in (False, True)
    ]
    text = b"".join(b"%d some words " % number for number in range(60))
    cases += [Case(f"{codec.label} data", _compressed(codec, text), _decompressor(codec)) for codec in Codec if codec]
    snapshot = _snapshot()
    cases += [
        Case("producer snapshot", [snapshot], _read_snapshot(fix=False)),
        Case("producer snapshot, checksum right", [snapshot], _read_snapshot(fix=True)),
        Case("offset index", [b"".join(struct.pack(">ii", n * 3, n * 100) for n in range(1, 40))], _read_offset_index),
        Case("time index", [b"".join(struct.pack(">qi", 1000 + n, n) for n in range(1, 40))], _read_time_index),
        Case("transaction index", [struct.pack(">hqqqq", 0, 4, 0, 9, 10) * 3], _read_txn_index),
    ]
    return cases


def _batches() -> list[bytes]:
    """Valid batches of every codec; the magic of some is older."""
    made = [bytes(batch([b"value", None, b"x" * 50], codec=codec, key=b"k", timestamp_step=1)) for codec in Codec]
    made.append(bytes(batch([b"v"], producer_id=4, producer_epoch=0, base_sequence=0)))
    made.append(bytes(batch([b"v"], producer_id=5, producer_epoch=1, base_sequence=0, transactional=True)))
    made.append(made[0] + made[1])
    marker = end_txn_marker(ControlType.ABORT, producer_id=5, producer_epoch=1, coordinator_epoch=0, timestamp=1)
    made.append(bytes(marker))
    old = bytearray(made[0])
    old[16] = 1
    made.append(bytes(old))
    return made


def _right_checksum(data: bytearray) -> None:
    """Makes size and checksum of the first batch fit, so that what is behind them is looked at."""
    if len(data) >= 61:
        struct.pack_into(">i", data, 8, len(data) - 12)
        data[16] = 2
        struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))


def _read_batch(data: bytearray) -> None:
    try:
        for position, header in iter_headers(data):
            try:
                verify_crc(data, position, header)
            except CorruptBatch:
                pass
            for _ in iter_records(data, position):
                pass
    except (CorruptBatch, KafkaError):
        pass


def _appender(settings: dict[str, object], right: bool, follower: bool) -> Callable[[bytearray], None]:
    """Appends to a log, reopens the log after some appends and compares."""
    world = LogWorld(settings)
    count = 0

    def feed(data: bytearray) -> None:
        nonlocal world, count
        if right:
            _right_checksum(data)
        end = world.log.log_end_offset
        try:
            if follower:
                struct.pack_into(">q", data, 0, end) if right and len(data) >= 8 else None
                world.log.append_as_follower(memoryview(data), world.clock.wall_ms())
            else:
                world.append(memoryview(data))
        except KafkaError as error:
            assert error.code in _FORESEEN, f"refused with {error!r}"
            assert world.log.log_end_offset == end, "refused and stored all the same"
        except UnexpectedAppendOffset:
            assert world.log.log_end_offset == end
        assert not world.failures, f"bad input took the directory offline: {world.failures}"
        count += 1
        if count % _APPENDS_PER_WORLD == 0:
            _reopen(world)
            world = LogWorld(settings)

    return feed


def _reopen(world: LogWorld) -> None:
    """Everything that was taken is there after a crash of the process."""
    log = world.log
    before = log.log_start_offset, log.log_end_offset, log.size_bytes
    world.crash(Loss.NOTHING)
    log = world.log
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == before, "recovery found another log"


def _compressed(codec: Codec, text: bytes) -> list[bytes]:
    return [compress(codec, data) for data in (b"", b"a", text, bytes(100_000))]


def _decompressor(codec: Codec) -> Callable[[bytearray], None]:
    def feed(data: bytearray) -> None:
        try:
            assert len(decompress(codec, data, _LIMIT)) <= _LIMIT
        except DecompressionError:
            pass

    return feed


def _snapshot() -> bytes:
    producers = []
    for number in range(3):
        producer = ProducerStateEntry(number)
        producer.keep([AppendedBatch(10, 20, 3, 1000)])
        producer.txn_first_offset = 18 if number else None
        producers.append((number, producer))
    return encode_snapshot(producers)


def _read_snapshot(fix: bool) -> Callable[[bytearray], None]:
    def feed(data: bytearray) -> None:
        if fix and len(data) >= 10:
            struct.pack_into(">hI", data, 0, 1, crc32c(bytes(data[6:])))
        try:
            decode_snapshot(bytes(data))
        except CorruptSnapshot:
            pass

    return feed


def _directory(data: bytearray, suffix: str) -> PartitionDirectory:
    files = FakeFiles()
    files.make_directory("/t-0")
    files.open(f"/t-0/{0:020d}{suffix}", create=True).write(data, 0)
    return PartitionDirectory("/t-0", files, OpenHandles())


def _read_offset_index(data: bytearray) -> None:
    index = OffsetIndex(_directory(data, OffsetIndex.SUFFIX), 0)
    index.opened(len(data), 1 << 16)
    index.drop_zero_tail()
    for offset in (-1, 0, 1, 50, 1 << 40):
        index.lookup(offset)
        index.first_at_or_after(offset)
    index.truncate_to(30)


def _read_time_index(data: bytearray) -> None:
    index = TimeIndex(_directory(data, TimeIndex.SUFFIX), 0)
    index.opened(len(data), 1 << 16)
    index.drop_zero_tail()
    for timestamp in (-1, 0, 1010, 1 << 40):
        index.lookup(timestamp)
    index.truncate_to(30)


def _read_txn_index(data: bytearray) -> None:
    index = TxnIndex(_directory(data, TxnIndex.SUFFIX), 0)
    index.opened(len(data))
    try:
        index.check()
        for offset in (-1, 0, 5, 1 << 40):
            index.search(offset, offset + 10)
        index.truncate_to(5)
    except CorruptTxnIndex:
        pass
