"""kafka-dump-log.sh: prints the files of a partition's directory, and says where they do not fit together.

By suffix: .log (dump_records.py), .index and .timeindex (dump_indexes.py), .snapshot and .txnindex (here). Unlike the
classic, a file that cannot be read ends its own dump only, in one line; the rest are dumped, and the exit code is 1.
Source: reference tools, section 22.
"""

from __future__ import annotations

import argparse
import mmap
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from struct import Struct

from kafka_py.cli.command import CommandFailed, CommandParser, log_warnings, require, run
from kafka_py.cli.dump_indexes import (
    CorruptIndex,
    Findings,
    Positions,
    check_offset_index,
    check_time_index,
    offset_index_lines,
    time_index_lines,
)
from kafka_py.cli.dump_records import Depth, Gap, log_lines
from kafka_py.cli.record_texts import (
    Decoder,
    UndecodableRecord,
    decoder_named,
    offsets_texts,
    plain_texts,
    transaction_texts,
)
from kafka_py.log import filenames
from kafka_py.log.producer_snapshots import CorruptSnapshot, decode_snapshot
from kafka_py.records.batch import CorruptBatch

STRINGS = "kafka.serializer.StringDecoder"

_ABORTED = Struct(">hqqqq")


def parser() -> CommandParser:
    table = CommandParser("kafka-dump-log.sh", "Print the files of a partition's directory, and look for faults.")
    table.option("--files", "REQUIRED: the files, parted by commas: .log, .index, .timeindex, .snapshot, .txnindex.",
                 metavar="String: file1, file2, ...")  # fmt: skip
    table.flag("--print-data-log", "Print keys and values of records; every decoder option means this too.")
    table.flag("--deep-iteration", "Print a line per record, not per batch only; --print-data-log means this too.")
    table.flag("--verify-index-only", "Hold indexes against their log without printing them.")
    table.flag("--index-sanity-check", "Only check indexes as a broker does when it starts.")
    table.option("--max-message-size", "The largest batch that an index may point to, in bytes.", kind=int,
                 metavar="Integer: size", default=5_242_880)  # fmt: skip
    for part in ("key", "value"):
        table.option(f"--{part}-decoder-class", f"How to show {part}s: kafka.serializer.StringDecoder, LongDecoder or "
                     "IntegerDecoder, a deserializer of the classic client, or a Python class module.Class.",
                     metavar="String", nargs="?", const=STRINGS)  # fmt: skip
    table.flag("--offsets-decoder", "The records are those of __consumer_offsets.")
    table.flag("--transaction-log-decoder", "The records are those of __transaction_state.")
    table.flag("--cluster-metadata-decoder", "Not supported: the records of clusters without ZooKeeper.")
    table.flag("--skip-record-metadata", "Print only keys and values of records.")
    return table


class Dump:
    """One run over several files. failed: whether one of them could not be read to its end."""

    def __init__(self, options: argparse.Namespace, out: Callable[[str], None]) -> None:
        self.failed = False
        self.findings = Findings()
        self.gaps: dict[str, list[Gap]] = {}
        self._out = out
        self._sanity_only = options.index_sanity_check
        self._verify_only = options.verify_index_only
        self._max_batch_bytes = options.max_message_size
        self._depth = depth_of(options)

    def file(self, path: str) -> None:
        """Dumps one file; what keeps it from being read is said in one line."""
        self._out(f"Dumping {path}")
        suffix = os.path.splitext(path)[1]
        dump = _BY_SUFFIX.get(suffix)
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

    def _fail(self, reason: str) -> None:
        self.failed = True
        print(f"Error: {reason}", file=sys.stderr)

    def _log(self, path: str) -> Iterator[str]:
        yield f"Starting offset: {base_offset_of(path)}"
        gaps = self.gaps.setdefault(os.path.abspath(path), [])
        yield from log_lines(read_only(path), os.path.basename(path), self._depth, gaps)

    def _offset_index(self, path: str) -> Iterator[str]:
        base_offset = base_offset_of(path)
        log = read_only(beside(path, filenames.LOG))
        data = Path(path).read_bytes()
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
        positions = Positions(Path(beside(path, filenames.OFFSET_INDEX)).read_bytes(), base_offset)
        data = Path(path).read_bytes()
        if self._sanity_only:
            check_time_index(data, base_offset)
            yield f"{path} passed sanity check."
            return
        for line in time_index_lines(data, positions, log, os.path.abspath(path), self.findings):
            if not self._verify_only:
                yield line

    def _snapshot(self, path: str) -> Iterator[str]:
        try:
            producers = decode_snapshot(Path(path).read_bytes())
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
        data = Path(path).read_bytes() if os.path.exists(path) else b""
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


_BY_SUFFIX: dict[str, Callable[[Dump, str], Iterator[str]]] = {
    filenames.LOG: Dump._log,
    filenames.OFFSET_INDEX: Dump._offset_index,
    filenames.TIME_INDEX: Dump._time_index,
    filenames.SNAPSHOT: Dump._snapshot,
    filenames.TXN_INDEX: Dump._txn_index,
}


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


def read_only(path: str) -> memoryview:
    """The content of a file, mapped and not read in. Raises OSError."""
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def main(arguments: Sequence[str]) -> int:
    options = parser().parse(arguments)
    require(options, "files")
    log_warnings()
    dump = Dump(options, print)
    for path in options.files.split(","):
        dump.file(path)
    sys.stdout.flush()
    for line in dump.complaints():
        print(line, file=sys.stderr)
    return 1 if dump.failed else 0


def cli() -> None:
    run(main, parser)


if __name__ == "__main__":
    cli()
