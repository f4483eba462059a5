"""What kafka-dump-log.sh does with each file: by suffix .log (dump_records.py), .index and .timeindex
(dump_indexes.py), .snapshot and .txnindex (here).

Unlike Apache Kafka, a file that cannot be read ends its own dump only, with a one-line error.
Source: docs/reference/tools.md, section 18.
"""

from __future__ import annotations

import argparse
import mmap
import os
import sys
from collections.abc import Callable, Iterator
from struct import Struct
from typing import ClassVar

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.console.record_texts import (
    STRINGS,
    Decoder,
    decoder_named,
    offsets_texts,
    plain_texts,
    transaction_texts,
)
from kafka_py.cli.log_dump.dump_indexes import (
    CorruptIndex,
    IndexMismatches,
    Positions,
    check_offset_index,
    check_time_index,
    offset_index_lines,
    time_index_lines,
)
from kafka_py.cli.log_dump.dump_records import Depth, Gap, log_lines
from kafka_py.log.disk import filenames
from kafka_py.log.state.producer_snapshots import CorruptSnapshot, decode_snapshot
from kafka_py.records.batch import CorruptBatch
from kafka_py.wire.stored_records import UndecodableRecord

_ABORTED = Struct(">hqqqq")


class Dump:
    """One run over several files. failed: whether one of them could not be read to its end.

    seen: called now and then with the number of bytes that are done.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        out: Callable[[str], None],
        seen: Callable[[int], object] = lambda _bytes: None,
    ) -> None:
        self.failed = False
        self.findings = IndexMismatches()
        self.gaps: dict[str, list[Gap]] = {}
        self._out = out
        self._seen = seen
        self._done_bytes = 0
        self._sanity_only = options.index_sanity_check
        self._verify_only = options.verify_index_only
        self._max_batch_bytes = options.max_message_size
        self._depth = depth_of(options)

    def file(self, path: str) -> None:
        """Dumps one file; what keeps it from being read is said in one line."""
        self._out(f"Dumping {path}")
        suffix = os.path.splitext(path)[1]
        dump = self._BY_SUFFIX.get(suffix)
        if dump is None:
            print(f"Ignoring unknown file {path}", file=sys.stderr)
            return
        try:
            for line in dump(self, path):
                self._out(line)
        except OSError as error:
            self._fail(f"Cannot read {error.filename or path}: {error.strerror}")
        except (CorruptBatch, CorruptIndex, UndecodableRecord, CommandFailed) as error:
            self._fail(f"{path}: {error}")
        self._done_bytes += size_of(path)
        self._seen(self._done_bytes)

    def _fail(self, reason: str) -> None:
        self.failed = True
        print(f"Error: {reason}", file=sys.stderr)

    def _log(self, path: str) -> Iterator[str]:
        yield f"Starting offset: {base_offset_of(path)}"
        gaps = self.gaps.setdefault(os.path.abspath(path), [])
        done = self._done_bytes
        yield from log_lines(
            read_only(path), os.path.basename(path), self._depth, gaps, lambda position: self._seen(done + position)
        )

    def _offset_index(self, path: str) -> Iterator[str]:
        base_offset = base_offset_of(path)
        log = read_only(beside(path, filenames.LOG))
        data = read_bytes(path)
        positions = Positions(data, base_offset)
        if not positions.count:
            yield f"{path} is empty."
            return
        if self._sanity_only:
            check_offset_index(data, base_offset)
            yield f"{path} passed sanity check."
            return
        mismatches: list[tuple[int, int]] = []
        try:
            for line in offset_index_lines(positions, log, self._max_batch_bytes, mismatches):
                if not self._verify_only:
                    yield line
        finally:
            if mismatches:
                self.findings.mismatches[os.path.abspath(path)] = mismatches

    def _time_index(self, path: str) -> Iterator[str]:
        base_offset = base_offset_of(path)
        log = read_only(beside(path, filenames.LOG))
        positions = Positions(read_bytes(beside(path, filenames.OFFSET_INDEX)), base_offset)
        data = read_bytes(path)
        if self._sanity_only:
            check_time_index(data, base_offset)
            yield f"{path} passed sanity check."
            return
        for line in time_index_lines(data, positions, log, os.path.abspath(path), self.findings):
            if not self._verify_only:
                yield line

    def _snapshot(self, path: str) -> Iterator[str]:
        try:
            producers = decode_snapshot(read_bytes(path))
        except CorruptSnapshot as corrupt:
            print(corrupt, file=sys.stderr)
            return
        for producer_id, producer in producers:
            first_offset = producer.txn_first_offset
            line = (
                f"producerId: {producer_id} producerEpoch: {producer.epoch} "
                f"coordinatorEpoch: {producer.coordinator_epoch} "
                f"currentTxnFirstOffset: {'None' if first_offset is None else f'Some({first_offset})'} "
            )
            for batch in producer.batches:
                line += (
                    f"firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
                    f"lastOffset: {batch.last_offset} offsetDelta: {batch.offset_delta} timestamp: {batch.timestamp}"
                )
            yield line

    def _txn_index(self, path: str) -> Iterator[str]:
        base_offset_of(path)
        data = read_bytes(path) if os.path.exists(path) else b""
        for version, producer_id, first, last, stable in _ABORTED.iter_unpack(data[: len(data) // 34 * 34]):
            yield (
                f"version: {version} producerId: {producer_id} firstOffset: {first} lastOffset: {last} "
                f"lastStableOffset: {stable}"
            )

    def complaints(self) -> Iterator[str]:
        """What is said at the end about all files together."""
        yield from self.findings.lines()
        for file, gaps in self.gaps.items():
            if gaps:
                yield f"Non-consecutive offsets in {file}"
                yield from (f"  {gap.offset} is followed by {gap.next_offset}" for gap in reversed(gaps))

    _BY_SUFFIX: ClassVar[dict[str, Callable[[Dump, str], Iterator[str]]]] = {
        filenames.LOG: _log,
        filenames.OFFSET_INDEX: _offset_index,
        filenames.TIME_INDEX: _time_index,
        filenames.SNAPSHOT: _snapshot,
        filenames.TXN_INDEX: _txn_index,
    }
    SUFFIXES = frozenset(_BY_SUFFIX)


def depth_of(options: argparse.Namespace) -> Depth | None:
    """What is to be shown of records; None for batches only. Raises CommandFailed, ConfigError."""
    if options.cluster_metadata_decoder:
        raise CommandFailed("--cluster-metadata-decoder is for clusters without ZooKeeper, whose logs it does not read")
    decoder: Decoder | None = None
    if options.offsets_decoder:
        decoder = offsets_texts
    elif options.transaction_log_decoder:
        decoder = transaction_texts
    elif options.print_data_log or options.key_decoder_class or options.value_decoder_class:
        decoder = plain_texts(
            decoder_named("key-decoder-class", options.key_decoder_class or STRINGS),
            decoder_named("value-decoder-class", options.value_decoder_class or STRINGS),
        )
    if decoder is None and not options.deep_iteration:
        return None
    return Depth(decoder, not options.skip_record_metadata)


def base_offset_of(path: str) -> int:
    """The offset that a segment's file is named after. Raises CommandFailed."""
    digits = os.path.basename(path).partition(".")[0]
    if not digits.isascii() or not digits.isdigit():
        raise CommandFailed("its name does not begin with an offset")
    return int(digits)


def beside(path: str, suffix: str) -> str:
    """The path of another file of the same segment."""
    return os.path.join(os.path.dirname(path), os.path.basename(path).partition(".")[0] + suffix)


def files_in(path: str) -> list[str]:
    """The files of a directory and those below it that can be dumped, in order of their names; else the path itself."""
    if not os.path.isdir(path):
        return [path]
    return sorted(
        os.path.join(directory, name)
        for directory, _, names in os.walk(path)
        for name in names
        if os.path.splitext(name)[1] in Dump.SUFFIXES and filenames.parse_segment_file(name) is not None
    )


def size_of(path: str) -> int:
    """The size of a file; 0 for one that is not there."""
    return os.path.getsize(path) if os.path.isfile(path) else 0


def read_bytes(path: str) -> bytes:
    """The content of a file. Raises OSError."""
    with open(path, "rb") as file:
        return file.read()


def read_only(path: str) -> memoryview:
    """The content of a file, mapped and not read in. Raises OSError."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
