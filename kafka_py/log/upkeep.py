"""Periodic tasks over all logs of a broker: retention, flushes, expiry of producers.

Runs on the loop, a few logs at a time; the logs move blocking work to the background. A failure of one log is reported
and does not affect the others. Knows nothing of directories.
Source: LogManager (its scheduled tasks, log.*.interval.ms).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.base.supervision import Periodic, Supervisor
from kafka_py.log.disk.background import Background
from kafka_py.log.disk.context import LATER, LONGEST_DELAY_MS
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.log.timestamp_reads import timestamp_reads

_log = logging.getLogger(__name__)

INITIAL_DELAY_MS = 30_000
_RETENTION_TURN = 8
"""Logs to which retention is applied per turn of the loop; each may have files to rename."""
_SEGMENTS_TURN = 2
"""Segments of one log that are deleted per turn of the loop."""
_MEMORY_TURN = 200
"""Logs per turn of the loop for tasks that access no file."""


Prepare = Callable[[list[PartitionLog], Callable[[], None]], None]
"""(logs, then): calls `then` on the loop as soon as the logs are prepared."""


def _unprepared(_logs: list[PartitionLog], then: Callable[[], None]) -> None:
    then()


class Upkeep:
    """The periodic tasks.

    later: calls back on the loop after a delay in ms; None without periodic tasks. background: runs blocking work.
    all_logs: all current logs. is_current: whether a log was neither deleted nor replaced. is_compacting: whether a
    running compaction needs the segments of a log; retention is applied to it afterwards.
    """

    def __init__(
        self,
        clock: Clock,
        later: LATER | None,
        supervisor: Supervisor,
        background: Background,
        *,
        all_logs: Callable[[], Iterable[PartitionLog]],
        is_current: Callable[[PartitionLog], bool],
        is_compacting: Callable[[PartitionLog], bool],
    ) -> None:
        self._clock = clock
        self._later = later
        self._all_logs = all_logs
        self._is_current = is_current
        self._is_compacting = is_compacting
        self._supervisor = supervisor
        self._background = background
        self._periodic: list[Periodic] = []
        self._stopped = False

    def stop(self) -> None:
        """Stops all tasks."""
        self._stopped = True
        for periodic in self._periodic:
            periodic.cancel()

    def every(self, interval_ms: int, task: Callable[[], object], activity: str) -> None:
        """Calls `task` periodically, first after 30 s; never if the interval exceeds 35 years."""
        if interval_ms >= LONGEST_DELAY_MS:
            return
        if self._later is None:
            raise ValueError("periodic upkeep needs a timer")
        pause_ms = max(interval_ms, 1)
        self._periodic.append(
            self._supervisor.every(self._later, pause_ms, task, activity, delay_ms=INITIAL_DELAY_MS)
        )

    def delete_old_segments(self) -> None:
        """Applies the retention rules to every log, a few per turn, because many may have segments to delete."""
        self._for_each(self.apply_retention, "retention", _RETENTION_TURN, self._read_timestamps)

    def _read_timestamps(self, logs: list[PartitionLog], then: Callable[[], None]) -> None:
        """Reads in a thread the timestamps that retention of these logs needs, then calls `then`."""
        reads = timestamp_reads(logs, _SEGMENTS_TURN)
        if not reads or self._later is None:
            then()
            return

        def run() -> None:
            for read in reads:
                read.run()

        def settle(_: None) -> None:
            for read in reads:
                read.settle()
            then()

        self._background.run(run, settle, lambda _error: then())

    def apply_retention(self, log: PartitionLog) -> None:
        """Applies the retention rules to one log, unless it is being compacted, over as many turns as that takes."""
        if self._is_compacting(log):
            return
        most = None if self._later is None else _SEGMENTS_TURN
        try:
            deleted = delete_old_segments(log, self._clock.wall_ms(), most)
        except KafkaError as error:
            _log.error("retention of %s: %s", log.topic_partition, error)
            return
        if self._later is not None and deleted == most:
            self._later(0, lambda: self._read_timestamps([log], lambda: self._continue_retention(log)))

    def _continue_retention(self, log: PartitionLog) -> None:
        if not self._stopped and self._is_current(log):
            self._supervisor.call("retention", partial(self.apply_retention, log), log.topic_partition)

    def flush_dirty_logs(self) -> None:
        """Flushes the logs that have unsynced data older than flush.ms, in the background."""
        self._for_each(self._flush_if_due, "flush of logs", _MEMORY_TURN)

    def _flush_if_due(self, log: PartitionLog) -> None:
        if self._clock.wall_ms() - log.flushing.last_ms >= log.config.flush_ms:
            log.flushing.in_background()

    def remove_expired_producers(self) -> None:
        """Removes producers that were inactive for transactional.id.expiration.ms."""
        now_ms = self._clock.wall_ms()
        self._for_each(lambda log: log.files.remove_expired_producers(now_ms), "expiry of producers", _MEMORY_TURN)

    def _for_each(
        self, work: Callable[[PartitionLog], object], activity: str, logs_a_turn: int, prepare: Prepare = _unprepared
    ) -> None:
        """Calls `work` with every log, `logs_a_turn` per turn of the loop, each time after `prepare`."""
        logs = iter(self._all_logs())

        def begin() -> None:
            while not self._stopped and (these := list(islice(logs, logs_a_turn))):
                prepare(these, partial(turn, these))
                if self._later is not None:
                    return

        def turn(these: list[PartitionLog]) -> None:
            if not self._stopped:
                for log in filter(self._is_current, these):
                    self._supervisor.call(activity, partial(work, log), log.topic_partition)
            if self._later is not None:
                self._later(0, begin)

        begin()
