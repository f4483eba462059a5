"""Compacted logs with a cleaner that runs when it is told to."""

from __future__ import annotations

from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.compaction.cleaning import CleanJob
from kafka_py.log.dirtiness import dirtiness_of
from kafka_py.log.disk.background import InlineBackground
from kafka_py.log.model.answers import Origin
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.stored_logs import LogWorld

DAY_MS = 86_400_000


class World(LogWorld):
    """A compacted log with its cleaner; nothing runs by itself."""

    def __init__(self, settings: dict[str, object] | None = None, **options: object) -> None:
        super().__init__({"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", **(settings or {})})
        given = {name.replace("_", "."): str(value) for name, value in options.items()}
        self.options = LogOptions.parse(given)
        self.saved: dict[TopicPartition, int] = {}
        self.ended = 0
        self.is_moved = False
        self.offline: list[str] = []
        self.cleaner = self.new_cleaner()

    def new_cleaner(self) -> Cleaner:
        def save(_path: str) -> None:
            self.saved = {self.topic_partition: self.log.compaction.cleaned_to}

        def after(_log: PartitionLog) -> None:
            self.ended += 1

        return Cleaner(
            self.options, self.clock, InlineBackground(), None, logs=self, save=save,
            io_failed=lambda path, _error: self.offline.append(path), after=after, supervisor=Supervisor(self.clock),
        )  # fmt: skip

    def all(self) -> list[PartitionLog]:
        return [self.log]

    def is_current(self, log: PartitionLog) -> bool:
        return log is self.log

    def is_moving(self, _log: PartitionLog) -> bool:
        return self.is_moved

    def put(self, *rows: tuple[str, str | None], roll: bool = True, **fields: Any) -> None:
        """One batch of these keys and values, and then a new segment."""
        builder = BatchBuilder(**fields)
        for key, value in rows:
            builder.append(self.clock.wall_ms(), key.encode(), None if value is None else value.encode())
        self.append(memoryview(bytearray(builder.build())), origin=Origin.COORDINATOR)
        self.log.update_high_watermark(self.log.log_end_offset)
        if roll:
            self.log.roll(self.clock.wall_ms())

    def end(self, producer_id: int, kind: ControlType, *, roll: bool = True) -> None:
        self.mark(producer_id, 0, kind)
        self.log.update_high_watermark(self.log.log_end_offset)
        if roll:
            self.log.roll(self.clock.wall_ms())

    def clean(self) -> int:
        """How many compactions were due."""
        begun = self.cleaner.started_count
        self.cleaner.scan()
        return self.cleaner.started_count - begun

    def texts(self) -> list[tuple[int, str, str | None]]:
        """Data that is left, as offset, key, value."""
        return [
            (record.offset, record.key.decode(), None if record.value is None else record.value.decode())
            for record in self.read_all()
            if record.key is not None and len(record.key) != 4
        ]

    def bases(self) -> list[int]:
        return [segment.base_offset for segment in self.log.segments]


def job_of(world: World) -> CleanJob:
    found = dirtiness_of(world.log, world.clock.wall_ms())
    job = world.log.compaction.clean_job(found, buffer_bytes=1 << 20, load_factor=0.9, bytes_per_s=1e18)
    return job.run()


def three_segments() -> World:
    world = World()
    for number in range(3):
        world.put(("a", str(number)))
    return world


class HurryingClock:
    """A clock on which every look costs ten milliseconds."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._looks = 0

    def wall_ms(self) -> int:
        return int(self._clock.wall_ms())

    def monotonic_ms(self) -> float:
        self._looks += 1
        return self._looks * 10.0

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000
