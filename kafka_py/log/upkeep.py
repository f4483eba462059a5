"""What is done for all logs of a broker now and then: retention, flushes, removing silent producers.

Runs on the loop, a few logs at a time; what blocks is left to the background by the logs themselves. What fails for one
log is reported, and the others continue. Knows nothing of directories.
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
from kafka_py.log.retention_looks import looks_at

_log = logging.getLogger(__name__)

INITIAL_DELAY_MS = 30_000
_RETENTION_TURN = 8
"""How many logs are searched for old segments before other work has its turn: each may have files to rename."""
_SEGMENTS_TURN = 2
"""How many segments of one log go in one turn of the loop."""
_MEMORY_TURN = 200
"""The same of work that touches no file."""


Prepare = Callable[[list[PartitionLog], Callable[[], None]], None]
"""(logs, then): calls `then` on the loop as soon as the logs may be worked on."""


def _unprepared(_logs: list[PartitionLog], then: Callable[[], None]) -> None:
    then()


class Upkeep:
    """The periodic work.

    later: calls back on the loop after some milliseconds; None where nothing is periodic. background: runs what blocks.
    all_logs: every log there is now. is_current: whether a log was not deleted or replaced meanwhile. is_compacting:
    whether the segments of a log must stay for a compaction; retention is applied to it afterwards.
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
        """No task begins from now on."""
        self._stopped = True
        for periodic in self._periodic:
            periodic.cancel()

    def every(self, interval_ms: int, task: Callable[[], object], activity: str) -> None:
        """Has `task` called again and again, first after half a minute; never for an interval that means never."""
        if interval_ms >= LONGEST_DELAY_MS:
            return
        if self._later is None:
            raise ValueError("periodic upkeep needs a timer")
        pause_ms = max(interval_ms, 1)
        self._periodic.append(
            self._supervisor.every(self._later, pause_ms, task, activity, delay_ms=INITIAL_DELAY_MS)
        )

    def delete_old_segments(self) -> None:
        """Applies the retention rules to every log, a few at a time: many may have something to delete at once."""
        self._for_each(self.apply_retention, "retention", _RETENTION_TURN, self._look_ahead)

    def _look_ahead(self, logs: list[PartitionLog], then: Callable[[], None]) -> None:
        """Calls `then` when no file has to be read to apply retention to these logs; at once if that is so already."""
        looks = looks_at(logs, _SEGMENTS_TURN)
        if not looks or self._later is None:
            then()
            return

        def run() -> None:
            for look in looks:
                look.run()

        def settle(_: None) -> None:
            for look in looks:
                look.settle()
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
            self._later(0, lambda: self._look_ahead([log], lambda: self._continue_retention(log)))

    def _continue_retention(self, log: PartitionLog) -> None:
        if not self._stopped and self._is_current(log):
            self._supervisor.call("retention", partial(self.apply_retention, log), log.topic_partition)

    def flush_dirty_logs(self) -> None:
        """Flushes the logs whose flush.ms is over, in the background."""
        self._for_each(self._flush_if_due, "flush of logs", _MEMORY_TURN)

    def _flush_if_due(self, log: PartitionLog) -> None:
        if self._clock.wall_ms() - log.flushing.last_ms >= log.config.flush_ms:
            log.flushing.in_background()

    def remove_expired_producers(self) -> None:
        """Forgets producers that have been silent for transactional.id.expiration.ms."""
        now_ms = self._clock.wall_ms()
        self._for_each(lambda log: log.files.remove_expired_producers(now_ms), "expiry of producers", _MEMORY_TURN)

    def _for_each(
        self, work: Callable[[PartitionLog], object], activity: str, logs_a_turn: int, prepare: Prepare = _unprepared
    ) -> None:
        """Calls `work` with every log, so many in one turn of the loop, each time after `prepare`."""
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
