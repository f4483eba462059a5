"""Stored logs of every message format, damaged, opened and read back; fast enough for a million times.

A log is written once per format and kept as the content of its files. Each trial puts these on a disk in memory,
damages one of them, opens the log or does it while the log is open, and compares what a reader gets, who verifies each
checksum, with what was written.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.disk.context import at_once
from kafka_py.log.loading.recovery import Checkpointed, open_log
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import MAGIC, CorruptBatch, Record, iter_headers, verify_crc
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.inodes import Inode
from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp, old_entry, old_wrapper, records_of

from .damage import KINDS, damaged

FLAVOURS = ("format 0", "format 1", "format 2", "mixed formats")
STATES = ("after a crash", "after a clean stop", "live")
CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
SETTINGS: dict[str, object] = {"segment.bytes": 700, "segment.index.bytes": 240, "index.interval.bytes": 150}
GROUPS = 8
ALLOWED = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.KAFKA_STORAGE_ERROR)
UNSEEN_NEW = frozenset((*range(8), *range(12, 16)))
"""Base offset and leader epoch of a batch are outside of its checksum; of an old entry, the offset."""
UNSEEN_OLD = frozenset(range(8))
"""Of entries of formats 0 and 1, their offset."""


@dataclass(frozen=True)
class Stored:
    """A log as files. batches: per .log file (position, position after, offset after, magic) of each batch."""

    files: dict[str, bytes]
    is_clean: bool
    checkpointed: Checkpointed
    sent: dict[int, Record]
    end_offset: int
    batches: dict[str, list[tuple[int, int, int, int]]]

    def disk(self) -> FakeFiles:
        """A disk with the files."""
        files = FakeFiles()
        files.make_directory(DIRECTORY)
        files._inodes.update(
            (path, Inode(bytearray(content), len(content), (content, len(content))))
            for path, content in self.files.items()
        )
        return files

    def kept_before(self, path: str, position: int) -> int:
        """The offset after the last batch that ends at or before a position of a .log file."""
        base = int(path.rpartition("/")[2][:20])
        return max([base, *(after for _, past, after, _ in self.batches[path] if past <= position)])

    def is_unseen(self, path: str, position: int) -> bool:
        """Whether no checksum covers the byte at this position."""
        for start, past, _, magic in self.batches[path]:
            if start <= position < past:
                return position - start in (UNSEEN_NEW if magic == MAGIC else UNSEEN_OLD)
        return False


def _groups(flavour: str, chance: random.Random) -> Iterator[tuple[int, bytes]]:
    """(records, batches) that follow one another: each a few batches of one format."""
    offset = sequence = 0
    for number in range(GROUPS):
        magic = {"format 0": 0, "format 1": 1, "format 2": 2}.get(flavour, number % 3)
        at = 1000 + number * 10
        rows = [(b"k%d" % index, b"%d-%d" % (number, index) * 4, at + index) for index in range(1 + number % 3)]
        codec = CODECS[number % 3]
        if magic < 2:
            data = old_entry(magic, offset, b"k", b"%d" % number * 9, timestamp=at)
            append_time = at + 5 if number % 4 == 3 and magic else None
            data += old_wrapper(magic, offset + 1, codec, rows, append_time=append_time)
            count = 1 + len(rows)
        else:
            plain = batch([b"p%d" % number] * 2, timestamp=at, base_offset=offset, leader_epoch=number // 3)
            ours = batch([row[1] for row in rows], timestamp=at, base_offset=offset + 2, leader_epoch=number // 3,
                         codec=codec, producer_id=4, producer_epoch=0, base_sequence=sequence,
                         transactional=True)  # fmt: skip
            sequence += len(rows)
            data = bytes(plain) + bytes(ours)
            count = 2 + len(rows)
            if number % 2:
                kind = ControlType.ABORT if number % 4 == 1 else ControlType.COMMIT
                marker = bytearray(end_txn_marker(kind, producer_id=4, producer_epoch=0, coordinator_epoch=0,
                                                  timestamp=at))  # fmt: skip
                marker[:8] = (offset + count).to_bytes(8, "big")
                marker[12:16] = (number // 3).to_bytes(4, "big")
                data += marker
                count += 1
        yield count, data
        offset += count


def stored(flavour: str, *, clean: bool) -> Stored:
    """A log of this flavour, closed, or left behind by a crash with nothing flushed."""
    world = LogWorld(SETTINGS)
    for _, data in _groups(flavour, random.Random(1)):
        world.log.append_as_follower(memoryview(bytearray(data)), 0)
    log = world.log
    log.update_high_watermark(log.log_end_offset)
    end_offset = log.log_end_offset
    sent = {record.offset: record for record in world.read_all()}
    if clean:
        log.close()
    checkpointed = Checkpointed(0, end_offset if clean else 0, end_offset)
    world.files.crash(Loss.NOTHING)
    files = {f"{world.directory}/{name}": world.data(name) for name in world.names()}
    batches = {
        path: [
            (position, position + header.size_bytes, header.next_offset, header.magic)
            for position, header in iter_headers(content)
        ]
        for path, content in files.items()
        if path.endswith(".log")
    }
    return Stored(files, clean, checkpointed, sent, end_offset, batches)


_WORLD = LogWorld(SETTINGS)
_WORLD.context.later = at_once  # its clock, which never moves, would keep every disk for the deletions to come
DIRECTORY = _WORLD.directory


def open_on(files: FakeFiles, stored_log: Stored) -> PartitionLog:
    context = _WORLD.context
    context.files = files
    return open_log(_WORLD.topic_partition, DIRECTORY, CONFIG, context, checkpointed=stored_log.checkpointed,
                    is_clean=stored_log.is_clean)  # fmt: skip


CONFIG: LogConfig = _WORLD.config


@lru_cache(maxsize=10_000)
def verified_records(whole: bytes) -> list[Record]:
    """The records of one batch. Raises CorruptBatch. Most batches of a trial are as they were."""
    verify_crc(whole)
    return records_of(whole)


def read_back(log: PartitionLog) -> tuple[dict[int, Record], str]:
    """Offset -> record of what a consumer gets, and what stopped it.

    It verifies checksums, and leaves out records below its position, as clients do: a wrapper whose offset is damaged,
    which no checksum covers, may claim the offsets of its predecessors.
    """
    found: dict[int, Record] = {}
    offset = wanted = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            read = log.read(offset, 10_000, up_to_offset=log.log_end_offset, min_one_batch=True)
            if read.slice is None:
                return found, "nothing is there"
            data = read.slice.file.read(read.slice.size, read.slice.position)  # type: ignore[attr-defined]
            past = offset
            for position, header in iter_headers(data):
                past = max(past, header.next_offset)
                for one in verified_records(data[position : position + header.size_bytes]):
                    if one.offset >= wanted:
                        found[one.offset] = one
                        wanted = one.offset + 1
        except CorruptBatch:
            return found, "the reader sees it"
        except KafkaError as error:
            assert error.code is ErrorCode.CORRUPT_MESSAGE, error
            return found, "CORRUPT_MESSAGE"
        if past <= offset:
            return found, "the reader sees it"
        offset = wanted = past
    return found, ""


class Trials:
    """Trials on one stored log; counts what comes of them. state: one of STATES."""

    def __init__(self, flavour: str, state: str, seed: int) -> None:
        self.outcomes: Counter[str] = Counter()
        self._state = state
        self._what = f"{flavour}, {state}, seed {seed}"
        self._chance = random.Random(f"{flavour} {state} {seed}")
        self._stored = stored(flavour, clean=state != "after a crash")
        self._paths = [path for path, content in self._stored.files.items() if content]

    def run(self, count: int) -> Counter[str]:
        logging.disable(logging.CRITICAL)
        try:
            for _ in range(count):
                self.outcomes[self._one()] += 1
        finally:
            logging.disable(logging.NOTSET)
        return self.outcomes

    def _one(self) -> str:
        chance = self._chance
        path, kind = chance.choice(self._paths), chance.choice(KINDS)
        content, position = damaged(self._stored.files[path], kind, chance)
        if position < 0:
            return "no damage"
        where = f"{self._what}: {kind} in {path} at {position}, trial {self.outcomes.total()}"
        try:
            return self._tried(path, content, position, where)
        except (AssertionError, KafkaError, OSError):
            raise
        except Exception as error:
            raise AssertionError(f"{where}: {error!r}") from error

    def _tried(self, path: str, content: bytes, position: int, where: str) -> str:
        files = self._stored.disk()
        log: PartitionLog | None = None
        if self._state == "live":
            log = open_on(files, self._stored)
        inode = files._inodes[path]
        inode.written, inode.size, inode.durable = bytearray(content), len(content), (content, len(content))
        if log is None:
            try:
                log = open_on(files, self._stored)
            except OSError as error:
                assert not path.endswith((".log", "index", ".snapshot")), f"{where}: {error}"
                return "directory offline"
        found, stop = read_back(log)
        self._check(path, position, log, found, where)
        if self._state == "after a crash":
            self._goes_on(log, files, found, where)
        else:
            ask(log, self._chance, where)
        if stop:
            return f"served up to the damage: {stop}"
        return "all served" if len(found) == len(self._stored.sent) else "cut"

    def _check(self, path: str, position: int, log: PartitionLog, found: dict[int, Record], where: str) -> None:
        sent = self._stored.sent
        is_log = path.endswith(".log")
        unseen = is_log and self._stored.is_unseen(path, position)
        if not unseen:
            wrong = {offset: record for offset, record in found.items() if sent.get(offset) != record}
            assert not wrong, f"{where}: served wrong: {wrong}"
        upto = self._stored.kept_before(path, position) if is_log else self._stored.end_offset
        if unseen and self._state != "after a crash":
            return  # where nothing is read again, two batches may now say that they have an offset
        missing = [offset for offset in sent if offset < upto and found.get(offset) != sent[offset]]
        assert not missing, f"{where}: offsets {missing} of {upto} are missing"

    def _goes_on(self, log: PartitionLog, files: FakeFiles, found: dict[int, Record], where: str) -> None:
        """After recovery the log takes appends, and another recovery finds the same."""
        end = log.log_end_offset
        assert log.append_as_leader(batch([b"next"]), 9, 0).first_offset == end, where
        again, stop = read_back(log)
        assert not stop, f"{where}: after recovery {stop}"
        assert again.pop(end).value == b"next", where
        assert again == found, where
        files.crash(Loss.NOTHING)
        reopened, stop = read_back(open_on(files, self._stored))
        assert not stop and reopened.pop(end).value == b"next" and reopened == found, f"{where}: a second recovery"


def ask(log: PartitionLog, chance: random.Random, where: str) -> None:
    """Whatever is asked gets an answer, or an error that clients know."""
    end, offset = log.log_end_offset, chance.randrange(log.log_end_offset)
    questions: list[Callable[[], object]] = [
        lambda: offset_for_timestamp(log, 1000 + chance.randrange(GROUPS * 10)),
        lambda: log.lookups.bytes_available(offset, end),
        lambda: log.lookups.aborted_transactions(offset, log.read(offset, 9999, up_to_offset=end, min_one_batch=True)),
        lambda: log.epochs.end_offset_for(1, end),
        lambda: log.append_as_leader(batch([b"next"]), 9, 0),
        lambda: log.roll(0),
        lambda: log.truncate_to(offset),
        lambda: log.append_as_leader(batch([b"next"]), 10, 0),
        log.close,
    ]
    for question in questions:
        try:
            question()
        except KafkaError as error:
            assert error.code in (*ALLOWED, ErrorCode.UNKNOWN_SERVER_ERROR), f"{where}: {error}"


