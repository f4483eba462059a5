"""What is done for all logs of a broker now and then: retention, flushes, forgetting silent producers.

Runs on the loop, a few logs at a time where that can take long; what blocks is left to the background by the logs
themselves. Knows nothing of directories. Source: reference replication, section 15; the log.*.interval.ms settings.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.log.context import LATER, LONGEST_DELAY_MS
from kafka_py.log.partition_log import PartitionLog

_log = logging.getLogger(__name__)

INITIAL_DELAY_MS = 30_000
_LOGS_A_TURN = 8
"""How many logs are looked through for old segments before other work has its turn."""


class Upkeep:
    """The periodic work.

    later: calls back on the loop after some milliseconds; None where nothing is periodic.
    all_logs: every log there is now. is_current: whether a log was not deleted or replaced meanwhile.
    """

    def __init__(
        self,
        clock: Clock,
        later: LATER | None,
        all_logs: Callable[[], Iterable[PartitionLog]],
        is_current: Callable[[PartitionLog], bool],
    ) -> None:
        self._clock = clock
        self._later = later
        self._all_logs = all_logs
        self._is_current = is_current
        self._stopped = False

    def stop(self) -> None:
        """No task begins any more."""
        self._stopped = True

    def every(self, interval_ms: int, task: Callable[[], object]) -> None:
        """Has `task` called again and again, first after half a minute; never for an interval that means never."""
        if interval_ms >= LONGEST_DELAY_MS:
            return
        if self._later is None:
            raise ValueError("periodic upkeep needs a timer")
        later, pause_ms = self._later, max(interval_ms, 1)

        def run() -> None:
            if self._stopped:
                return
            try:
                task()
            finally:
                later(pause_ms, run)

        later(INITIAL_DELAY_MS, run)

    def delete_old_segments(self) -> None:
        """Applies the retention rules to every log, a few at a time: many may have something to delete at once."""
        self._delete_old_segments(iter(self._all_logs()))

    def _delete_old_segments(self, logs: Iterator[PartitionLog]) -> None:
        now_ms = self._clock.wall_ms()
        these = list(islice(logs, _LOGS_A_TURN))
        for log in filter(self._is_current, these):
            try:
                log.delete_old_segments(now_ms)
            except KafkaError as error:
                _log.error("retention of %s: %s", log.topic_partition, error)
        if these and self._later is not None and not self._stopped:
            self._later(0, lambda: self._delete_old_segments(logs))

    def flush_dirty_logs(self) -> None:
        """Flushes the logs whose flush.ms is over, in the background."""
        now_ms = self._clock.wall_ms()
        for log in self._all_logs():
            if now_ms - log.last_flush_ms >= log.config.flush_ms:
                log.flush_in_background()

    def remove_expired_producers(self) -> None:
        """Forgets producers that have been silent for transactional.id.expiration.ms."""
        now_ms = self._clock.wall_ms()
        for log in self._all_logs():
            log.remove_expired_producers(now_ms)
