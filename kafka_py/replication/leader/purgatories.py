"""The purgatories of a broker's partitions, and the checks of parked operations when a partition changes.

Knows only the listeners (fetch sessions) and names of partitions. The checks after an append run after the present
handler has returned, so that several appends in one turn of the loop need one check and no handler is re-entered.
Source: docs/reference/replication.md, section 15.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.replication.state.partition import Partition


class Parked:
    """The purgatories of produce, fetch and delete-records operations.

    defer: runs a function after the present handler has returned, as loop.call_soon does.
    """

    def __init__(
        self,
        produce: Purgatory[Hashable],
        fetch: Purgatory[Hashable],
        delete: Purgatory[Hashable],
        defer: Callable[[Callable[[], None]], object],
    ) -> None:
        self.produce = produce
        self.fetch = fetch
        self.delete = delete
        self._defer = defer
        self._produce_checks: dict[Hashable, None] = {}
        self._fetch_checks: dict[Hashable, None] = {}
        self._checks_queued = False

    def note_change(self, partition: Partition, *, watermark_raised: bool) -> None:
        """Schedules checks after the partition's end, and perhaps its high watermark, has moved."""
        for listener in partition.listeners:
            key = listener.on_change()
            if key is not None:
                self._fetch_checks[key] = None
        if self.fetch.watched:
            self._fetch_checks[partition.topic_partition] = None
        if watermark_raised and self.produce.watched:
            self._produce_checks[partition.topic_partition] = None
        if not self._checks_queued and (self._fetch_checks or self._produce_checks):
            self._checks_queued = True
            self._defer(self._run_checks)

    def _run_checks(self) -> None:
        self._checks_queued = False
        produce, self._produce_checks = self._produce_checks, {}
        fetch, self._fetch_checks = self._fetch_checks, {}
        for key in produce:
            self.produce.check_and_complete(key)
        for key in fetch:
            self.fetch.check_and_complete(key)

    def complete(self, topic_partition: TopicPartition, partition: Partition | None) -> None:
        """Checks all operations of a partition immediately, after its role has changed or it was removed."""
        if partition is not None:
            for listener in list(partition.listeners):
                key = listener.on_change()
                if key is not None:
                    self.fetch.check_and_complete(key)
        for purgatory in (self.produce, self.fetch, self.delete):
            purgatory.check_and_complete(topic_partition)

    def close(self) -> None:
        """Completes all parked operations."""
        for purgatory in (self.produce, self.fetch, self.delete):
            purgatory.close()
