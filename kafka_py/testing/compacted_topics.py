"""The log side of a broker with one compacted topic, on disks in memory: for tests of what compaction keeps.

Nothing runs by itself: tests put records, compact, cut, move and delete the log, and stop or crash the broker.
"""

from __future__ import annotations

import random

from kafka_py.base.chance import Chance
from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.background import InlineBackground
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.batch import Record, iter_headers
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.files import FakeFiles, Loss
from kafka_py.testing.fakes.stored_logs import records_of, slice_bytes

T = TopicPartition("t", 0)
SETTINGS = {
    "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "1000",
    "segment.bytes": "300", "segment.index.bytes": "1200",
}  # fmt: skip


class CompactedTopic:
    """A broker's log directories with partition `T`. names_need_sync: a power failure takes unsynced names too."""

    def __init__(self, *directories: str) -> None:
        self.clock = ManualClock()
        self.chance = Chance(1)
        self.files = FakeFiles(now_ms=self.clock.wall_ms, names_need_sync=True)
        self.options = LogOptions.parse({"log.dirs": ",".join(directories), "log.cleaner.enable": "false"})
        self.config = LogConfig.for_topic(None, SETTINGS)
        self.open()

    # ---- lives

    def open(self) -> None:
        self.dirs = LogManager(
            self.options, self.files, self.clock, self.chance, background=InlineBackground(),
            later=self.clock.later,
        )  # fmt: skip
        self.dirs.open()
        self.dirs.load(lambda _topic: self.config)

    def stop(self, loss: Loss | None, rng: random.Random | None = None) -> None:
        """A clean stop, or with a `loss` a crash; time continues, and what was to happen later does not happen."""
        if loss is None:
            self.dirs.shutdown()
        else:
            self.files.crash(loss, rng)
        self.clock = ManualClock(self.clock.wall_ms())
        self.files.now_ms = self.clock.wall_ms

    def restart(self, loss: Loss | None = None, rng: random.Random | None = None) -> None:
        """Stops and starts; everything in the log counts as replicated."""
        self.stop(loss, rng)
        self.open()
        self.log.update_high_watermark(self.log.log_end_offset)

    # ---- the log

    @property
    def log(self) -> PartitionLog:
        return self.dirs.get_or_create(T, self.config)

    def append(self, *rows: tuple[str, str | None]) -> int:
        """One batch of these keys and values, at once replicated; the first offset."""
        builder = BatchBuilder()
        for key, value in rows:
            builder.append(self.clock.wall_ms(), key.encode(), None if value is None else value.encode())
        log, batch = self.log, memoryview(bytearray(builder.build()))
        info = log.append_as_leader(batch, 0, self.clock.wall_ms(), origin=Origin.COORDINATOR)
        log.update_high_watermark(log.log_end_offset)
        return info.first_offset

    def append_old(self, magic: int, codec: Codec, *rows: tuple[str, str | None]) -> int:
        """The same in format 0 or 1, as copied from a leader: one entry per row, or a wrapper; the first offset."""
        log, now_ms = self.log, self.clock.wall_ms()
        first = log.log_end_offset
        builder = LegacyBuilder(magic, codec, base_offset=first)
        for key, value in rows:
            builder.append(now_ms, key.encode(), None if value is None else value.encode())
        log.append_as_follower(memoryview(bytearray(builder.build())), now_ms)
        log.update_high_watermark(log.log_end_offset)
        return first

    def put(self, key: str, value: str | None) -> None:
        """One record in a segment of its own."""
        self.append((key, value))
        self.log.roll(self.clock.wall_ms())

    def fill(self, count: int) -> None:
        for number in range(count):
            self.put(f"filler {number}", "x")

    def clean(self, after_ms: int = 5000) -> None:
        """Compacts what is due after some time."""
        self.clock.advance(after_ms)
        self.dirs.cleaner.scan()
        self.clock.advance(0)

    def rounds(self) -> None:
        """Compactions after which no tombstone of before is left."""
        for _ in range(3):
            self.put("other", "x")
            self.clean()

    def records(self) -> list[Record]:
        """Every record, in order."""
        log, offset = self.log, self.log.log_start_offset
        found: list[Record] = []
        while offset < log.log_end_offset:
            data = slice_bytes(log.read(offset, 1 << 20, up_to_offset=log.log_end_offset).slice)
            if not data:
                break
            found += [record for record in records_of(data) if record.offset >= offset]
            *_, (_, last) = iter_headers(data)
            offset = last.next_offset
        return found

    def texts(self) -> dict[str, str | None]:
        """What the log says of each key that it still knows."""
        return {
            (record.key or b"").decode(): None if record.value is None else record.value.decode()
            for record in self.records()
        }

    def row(self, directory: str = "/a") -> list[str]:
        """The rows of a directory's cleaner-offset-checkpoint."""
        return self.files.read_bytes(f"{directory}/cleaner-offset-checkpoint").decode().splitlines()[2:]

    # ---- moves

    def copy_piece(self) -> bool:
        """Copies one batch to the future log, as the mover does; whether the future log has all now."""
        present, future = self.log, self.dirs.futures.get(T)
        assert future is not None
        if future.log_end_offset < present.log_start_offset:
            future.truncate_fully_and_start_at(present.log_start_offset)
        if future.log_end_offset < present.log_end_offset:
            piece = present.read(future.log_end_offset, 1, up_to_offset=present.log_end_offset, min_one_batch=True)
            future.append_as_follower(memoryview(bytearray(slice_bytes(piece.slice))), self.clock.wall_ms())
            future.update_high_watermark(present.high_watermark)
        return future.log_end_offset >= present.log_end_offset

    def move(self, directory: str, between: int = 0) -> None:
        """Moves the log, with this many compactions while it is copied."""
        self.dirs.futures.create(T, directory)
        while not self.copy_piece():
            if between:
                between -= 1
                self.put("other", "x")
                self.clean()
        self.dirs.futures.promote(T)
