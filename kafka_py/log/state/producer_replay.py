"""Rebuilding the producer state of a log: from its newest usable snapshot, then batch by batch.

Reads files; producer_state.py applies a batch to the state. Source: docs/reference/log.md, section 13.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.segments.log_segments import with_following
from kafka_py.log.segments.scanning import iter_file_headers
from kafka_py.log.segments.segment import Segment
from kafka_py.log.segments.txn_index import AbortedTxn
from kafka_py.log.state.producer_snapshots import CorruptSnapshot, decode_snapshot, encode_snapshot
from kafka_py.log.state.producer_state import BATCHES_KEPT, AppendedBatch, ProducerStates
from kafka_py.records.batch import CONTROL_FLAG, BatchHeader, CorruptBatch, decode_records
from kafka_py.records.control import (
    ControlType,
    EndTxnMarker,
    plain_end_txn_marker,
    read_control_type,
    read_end_txn_marker,
)

_log = logging.getLogger(__name__)

RECALLED_BYTES = (8 * 1024, 32 * 1024, 96 * 1024)
"""How many bytes before a snapshot are searched for batches: five of a client's usual size; fewer at first, because a
start must not read very many small batches."""

_Batches = dict[tuple[int, int], list[AppendedBatch]]
"""By producer id and epoch, in order."""


def read_marker(batch: bytes | memoryview, header: BatchHeader) -> EndTxnMarker | None:
    """The transaction marker in a control batch; None for an empty batch and for other control types."""
    if header.record_count <= 0:
        return None
    plain = plain_end_txn_marker(batch) if header.record_count == 1 else None
    if plain is not None:
        return plain
    record = decode_records(batch, header=header)[0]
    if read_control_type(record) is ControlType.UNKNOWN:
        return None
    return read_end_txn_marker(record)


def check_markers(
    records: memoryview, batches: Iterable[tuple[int, BatchHeader]], topic_partition: TopicPartition
) -> None:
    """Raises KafkaError(CORRUPT_MESSAGE) for a malformed control batch, which recovery would truncate.

    batches: (position, header) of those in `records`.
    """
    for position, header in batches:
        if header[5] & CONTROL_FLAG and header[9] >= 0:
            try:
                read_marker(records[position : position + header.size_bytes], header)
            except CorruptBatch as corrupt:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{topic_partition}: {corrupt}") from corrupt


def check_control_batch(producers: ProducerStates, records: memoryview, header: BatchHeader) -> None:
    """Checks whether a leader may append a producer's control batch.

    Raises KafkaError(INVALID_RECORD) for a malformed one, and as ProducerStates.check_marker.
    """
    try:
        marker = read_marker(records, header)
    except CorruptBatch as corrupt:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(corrupt)) from corrupt
    if marker is not None:
        producers.check_marker(header, marker)


def apply_batch(
    producers: ProducerStates, header: BatchHeader, batch: bytes | memoryview | None
) -> AbortedTxn | None:
    """Applies one batch of a producer to the state; returns the transaction index entry if it aborted a transaction.

    batch: its bytes; only read for control batches. Raises CorruptBatch for a malformed control batch.
    """
    if not header.is_control:
        producers.apply(header, header.base_offset)
        return None
    marker = read_marker(batch, header) if batch is not None else None
    if marker is None:
        return None
    completed = producers.apply_marker(header, marker)
    if completed is None or not completed.is_aborted:
        return None
    return producers.index_entry(completed)


def load_snapshot(
    directory: PartitionDirectory,
    producers: ProducerStates,
    snapshots: list[int],
    *,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    expiration_ms: int,
) -> None:
    """Resets `producers` to the newest usable snapshot of (log_start_offset, end_offset]; empty when there is none.

    snapshots: the offsets of those on disk, ascending. Corrupt ones, and those outside of that range, are removed
        from disk and list. Producers that have expired are left out.
    """
    producers.reset(log_start_offset)
    for offset in [kept for kept in snapshots if not log_start_offset < kept <= end_offset]:
        _drop(directory, snapshots, offset)
    while snapshots:
        offset = snapshots[-1]
        try:
            loaded = decode_snapshot(directory.files.read_bytes(directory.segment_path(offset, filenames.SNAPSHOT)))
        except (CorruptSnapshot, FileNotFoundError) as error:
            _log.warning("%s: dropping producer snapshot %d: %s", directory.path, offset, error)
            _drop(directory, snapshots, offset)
            continue
        for producer_id, producer in loaded:
            if producer.txn_first_offset is not None or now_ms - producer.last_timestamp < expiration_ms:
                producers.restore(producer_id, producer)
        producers.restored()
        producers.reached(offset)
        return


def _drop(directory: PartitionDirectory, snapshots: list[int], offset: int) -> None:
    directory.remove_if_present(filenames.segment_file(offset, filenames.SNAPSHOT))
    snapshots.remove(offset)


def write_snapshot(directory: PartitionDirectory, producers: ProducerStates, snapshots: list[int]) -> bool:
    """Writes a snapshot at the state's end offset unless the newest one is not older; whether it did. Not synced.

    A log without any write has no snapshot, as in Apache Kafka.
    """
    offset = producers.end_offset
    if offset <= (snapshots[-1] if snapshots else 0):
        return False
    data = encode_snapshot(producers.active())
    file = directory.open(offset, filenames.SNAPSHOT, create=True)
    try:
        file.truncate(0)
        file.write(data, 0)
    finally:
        file.close()
    snapshots.append(offset)
    return True


def replay(segments: Sequence[Segment], producers: ProducerStates, end_offset: int) -> None:
    """Brings the state from its end offset up to `end_offset`, reading headers only (and transaction markers)."""
    start = producers.end_offset
    if producers.producers:
        _recall(segments, producers)
    if start < end_offset:
        for segment, following in with_following(segments):
            if following is None or following.base_offset > start:
                _replay_segment(segment, producers, start, end_offset)
    producers.reached(end_offset)


def _recall(segments: Sequence[Segment], producers: ProducerStates) -> None:
    """Reads the batches before each producer's last one, which a snapshot does not contain.

    A client that lost responses resends up to five batches. Apache Kafka 2.8.2, which knows only the last of them after
    a restart, rejects the others as out of order; the client then bumps its epoch and sends them again as duplicates.
    """
    keys = [(producer_id, producer.epoch) for producer_id, producer in producers.active()]
    known: _Batches = {}
    for most_bytes in RECALLED_BYTES:
        known, is_all = _last_batches(segments, producers.end_offset, most_bytes)
        if is_all or all(len(known.get(key, ())) >= BATCHES_KEPT for key in keys):
            break
    for producer_id, producer in producers.active():
        found = known.get((producer_id, producer.epoch))
        if found and producer.batches and found[-1][:3] == producer.batches[-1][:3]:
            producer.keep([*found[-BATCHES_KEPT:-1], producer.batches[-1]])


def _last_batches(segments: Sequence[Segment], end_offset: int, most_bytes: int) -> tuple[_Batches, bool]:
    """The data batches of about the last `most_bytes` before an offset, and whether there are no earlier ones."""
    known: _Batches = {}
    left_bytes = most_bytes
    for segment in reversed([each for each in segments if each.base_offset < end_offset]):
        try:
            place = segment.find(end_offset)
            end = segment.size if place is None else place.position
            earlier = _batches_before(segment, end, left_bytes)
        except CorruptBatch as corrupt:
            _log.warning("%s: cannot read the last batches of its producers: %s", segment.path, corrupt)
            return known, True
        for key, batches in earlier.items():
            known[key] = batches + known.get(key, [])
        left_bytes -= end
        if left_bytes < 0:
            return known, False
    return known, True


def _batches_before(segment: Segment, end: int, most_bytes: int) -> _Batches:
    """The data batches of about the last `most_bytes` before a position."""
    begin = 0
    if end > most_bytes:
        entry = segment.offset_index.first_at_or_after(end - most_bytes)
        if entry is None or entry.position >= end:
            return {}
        begin = entry.position
    found: _Batches = {}
    for _position, header in iter_file_headers(segment.file(), begin, end):
        if header.producer_id >= 0 and not header.is_control:
            batch = AppendedBatch.of(header)
            found.setdefault((header.producer_id, header.producer_epoch), []).append(batch)
    return found


def _replay_segment(segment: Segment, producers: ProducerStates, start: int, end_offset: int) -> None:
    try:
        _replay_batches(segment, producers, start, end_offset)
    except CorruptBatch as corrupt:  # later batches cannot be found, nor read by consumers
        _log.warning("%s: the producers after it are unknown: %s", segment.path, corrupt)


def _replay_batches(segment: Segment, producers: ProducerStates, start: int, end_offset: int) -> None:
    place = segment.find(start)
    if place is None:
        return
    file = segment.file()
    for position, header in iter_file_headers(file, place.position, segment.size):
        if header.base_offset >= end_offset:
            return
        if header.producer_id < 0 or header.last_offset < start:
            continue
        batch = file.read(header.size_bytes, position) if header.is_control else None
        try:
            apply_batch(producers, header, batch)
        except CorruptBatch as corrupt:
            _log.warning("%s: control batch at offset %d: %s", segment.path, header.base_offset, corrupt)
