"""What is parked on partitions, and who is woken when a partition moves.

Knows partitions only by what they tell: their listeners (fetch sessions) and their name. The checks after an append
run once the present handler is through, so that several appends of one turn of the loop cost one look and no handler
is re-entered. Source: docs/reference/replication.md, section 15.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from kafka_py.base.ids import TopicPartition
from kafka_py.base.purgatory import Purgatory
from kafka_py.replication.state.partition import Partition


class Parked:
    """The purgatories of produces, fetches and deletions of records.

    defer: runs a function once the present handler is through, as loop.call_soon does.
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
        """The partition's end, and perhaps its high watermark, moved: what is parked looks again a little later."""
        for listener in partition.listeners:
            key = listener.on_news()
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
        """The partition's role changed or it is gone: what is parked on it is answered now, before anything else."""
        if partition is not None:
            for listener in list(partition.listeners):
                key = listener.on_news()
                if key is not None:
                    self.fetch.check_and_complete(key)
        for purgatory in (self.produce, self.fetch, self.delete):
            purgatory.check_and_complete(topic_partition)

    def close(self) -> None:
        """Answers everything that is parked."""
        for purgatory in (self.produce, self.fetch, self.delete):
            purgatory.close()
