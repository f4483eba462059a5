"""Damage anywhere in a stored directory, then opened as a broker opens it; logs alone are in test_damaged_logs.py.

Every whole batch before the damage is there, or the directory is offline with a clear line, or the damage is where the
format has no means to see it; a record that comes out is one that went in.
"""

import logging
import random
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.log.loading.log_dir import LogDirError
from kafka_py.log.loading.meta_properties import InconsistentBrokerId, InconsistentMetadata, MetaProperties
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import CorruptBatch, iter_headers, iter_records, verify_crc
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import batch, offset_for_timestamp, slice_bytes

from .damage import KINDS, damaged

TP = TopicPartition("t", 0)
OTHER = TopicPartition("other", 1)
SETTINGS = {
    "log.dirs": "/logs",
    "log.segment.bytes": "1500",
    "log.index.size.max.bytes": "1200",
    "log.index.interval.bytes": "200",
}
BATCHES = 24


class Stored:
    """A log directory with two logs, closed or left behind by a crash, whose files can be changed and put back."""

    def __init__(self, *, clean: bool) -> None:
        self.clock = ManualClock()
        self.files = FakeFiles(now_ms=self.clock.wall_ms)
        self.clean = clean
        self.sent: dict[int, bytes] = {}
        self.ends: dict[str, list[tuple[int, int]]] = {}
        dirs = self.open()
        dirs.write_meta(MetaProperties(0, "c"))
        self._fill(dirs)
        dirs.checkpoint_recovery_points()
        dirs.checkpoint_high_watermarks()
        dirs.checkpoint_log_start_offsets()
        if clean:
            dirs.shutdown()
        else:
            dirs.abandon()
        self.images = self._snapshot("/logs")

    def open(self) -> LogManager:
        dirs = LogManager(LogOptions.parse(SETTINGS), self.files, self.clock, Chance(), later=self.clock.later)
        dirs.open()
        dirs.read_meta()
        dirs.load()
        return dirs

    def _fill(self, dirs: LogManager) -> None:
        log = dirs.get_or_create(TP)
        sequence = 0
        for number in range(BATCHES):
            values = [b"%d-%d" % (number, index) * 5 for index in range(1 + number % 3)]
            producer: dict[str, Any] = {"producer_id": 4, "producer_epoch": 0, "base_sequence": sequence}
            is_theirs = number % 4 == 1
            made = batch(values, timestamp=1000 + number, transactional=is_theirs, **(producer if is_theirs else {}))
            sequence += len(values) if is_theirs else 0
            info = log.append_as_leader(made, number // 8, self.clock.wall_ms())
            self.sent.update({info.first_offset + index: value for index, value in enumerate(values)})
            if number % 8 == 6:
                marker = end_txn_marker(
                    ControlType.ABORT, producer_id=4, producer_epoch=0, coordinator_epoch=0, timestamp=1000 + number
                )
                log.append_as_leader(memoryview(bytearray(marker)), number // 8, 0, origin=Origin.COORDINATOR)
        self.end = log.log_end_offset
        log.update_high_watermark(self.end)
        other = dirs.get_or_create(OTHER)
        other.append_as_leader(batch([b"o"]), 0, 0)

    def _snapshot(self, directory: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for entry in self.files.list(directory):
            path = f"{directory}/{entry.name}"
            if entry.is_directory:
                found.update(self._snapshot(path))
            else:
                found[path] = self.files.read_bytes(path)
        return found

    def restore(self) -> None:
        self.files.crash(Loss.NOTHING)
        for path in self._snapshot("/logs").keys() - self.images.keys():
            self.files.remove(path)
        for path, content in self.images.items():
            self.put(path, content)

    def put(self, path: str, content: bytes) -> None:
        file = self.files.open(path, create=True)
        file.truncate(0)
        file.write(content, 0)

    def batch_starts(self, path: str) -> list[tuple[int, int]]:
        """(position after the batch, offset after it) of each batch of a .log file."""
        data = self.images[path]
        return [(position + header.size_bytes, header.next_offset) for position, header in iter_headers(data)]


def log_of(dirs: LogManager) -> PartitionLog:
    log = dirs.get(TP)
    assert log is not None
    return log


def read_back(dirs: LogManager) -> dict[int, bytes]:
    """Offset -> value of what a consumer gets: it checks each batch's checksum, and stops at one that does not fit."""
    log = log_of(dirs)
    found: dict[int, bytes] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            data = slice_bytes(log.read(offset, 10_000, up_to_offset=log.log_end_offset, min_one_batch=True).slice)
            past = offset
            for position, header in iter_headers(data):
                verify_crc(data, position, header)
                past = header.next_offset
                if not header.is_control:
                    found.update({r.offset: r.value for r in iter_records(data, position) if r.offset >= offset})
        except CorruptBatch:
            return found
        except KafkaError as error:
            assert error.code is ErrorCode.CORRUPT_MESSAGE
            return found
        if past <= offset:
            return found
        offset = past
    return found


UNSEEN = {*range(8), *range(12, 16)}
"""Base offset and leader epoch of a batch are outside of its checksum."""


def kept_before(stored: Stored, path: str, position: int) -> int:
    """The offset after the last batch that lies whole before the flipped byte of the log."""
    base = int(path.rpartition("/")[2][:20])
    return max([base, *(end for past, end in stored.batch_starts(path) if past <= position)])


def place_in_batch(stored: Stored, path: str, position: int) -> int:
    start = max([0, *(past for past, _ in stored.batch_starts(path) if past <= position)])
    return position - start


@pytest.mark.parametrize("clean", [False, True], ids=["after a crash", "after a clean stop"])
@pytest.mark.parametrize("seed", range(4))
def test_damage_anywhere(clean: bool, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    stored = Stored(clean=clean)
    chance = random.Random(seed)
    paths = [path for path, content in stored.images.items() if content and ".lock" not in path]
    for path in paths * 12:
        kind = chance.choice(("flip", *KINDS))
        content, position = damaged(stored.images[path], kind, chance)
        if position < 0:
            continue
        stored.restore()
        stored.put(path, content)
        check(stored, path, position, f"{kind} of {path} at byte {position}", caplog)


def check(stored: Stored, path: str, position: int, where: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    try:
        dirs = stored.open()
    except (InconsistentBrokerId, InconsistentMetadata) as refusal:
        assert path.endswith("meta.properties") and "meta.properties" in str(refusal), where
        return
    except LogDirError as refusal:
        assert "t-0" in str(refusal) or "/logs" in str(refusal), where
        return
    if dirs.offline_directories:
        assert dirs.offline_directories == ["/logs"]
        assert any("log directory /logs is offline" in record.getMessage() for record in caplog.records), where
        assert not any(record.exc_info for record in caplog.records), where
        return
    found = read_back(dirs)
    is_log = path.endswith(".log") and "/t-0/" in path
    unseen = is_log and place_in_batch(stored, path, position) in UNSEEN
    if not unseen:
        wrong = {offset: value for offset, value in found.items() if stored.sent.get(offset) != value}
        assert not wrong, f"{where}: {wrong}"
    if "checkpoint" in path and "leader-epoch" not in path:
        return  # a digit that became another one says something else and nobody can know
    upto = kept_before(stored, path, position) if is_log else stored.end
    upto = 0 if unseen else upto  # where nothing is read again, two batches now say that they hold an offset
    missing = [offset for offset in stored.sent if offset < upto and found.get(offset) != stored.sent[offset]]
    assert not missing, f"{where}: {missing} of {upto}"
    if not (stored.clean and is_log):
        log = log_of(dirs)
        end = log.log_end_offset
        assert log.append_as_leader(batch([b"next"]), 9, 0).first_offset == end, where
    log_lookups(dirs)


def log_lookups(dirs: LogManager) -> None:
    """Whatever is asked gets an answer or an error that clients know."""
    log = log_of(dirs)
    for look in (
        lambda: offset_for_timestamp(log, 1010),
        lambda: log.lookups.bytes_available(3, log.log_end_offset),
        lambda: log.lookups.aborted_transactions(
            0, log.read(0, 10_000, up_to_offset=log.log_end_offset, min_one_batch=True)
        ),
        lambda: log.epochs.end_offset_for(1, log.log_end_offset),
        lambda: log.truncate_to(5),
    ):
        try:
            look()
        except KafkaError as error:
            assert error.code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.OFFSET_OUT_OF_RANGE)
