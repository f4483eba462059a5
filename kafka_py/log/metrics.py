"""What the log measures: sizes and offsets of each log, flushes, failed directories.

Source: reference metrics table, kafka.log.
"""

from __future__ import annotations

from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Gauge, Timing
from kafka_py.log.partition_log import PartitionLog


class LogMetrics(Fleet, group="kafka.log:type=Log", tags=("topic", "partition")):
    """Every log."""

    num_log_segments = Gauge("NumLogSegments", of=lambda log: len(log.segments), about="Segment files.")
    log_start_offset = Gauge("LogStartOffset", of=lambda log: log.log_start_offset, about="First offset.")
    log_end_offset = Gauge("LogEndOffset", of=lambda log: log.log_end_offset, about="Next offset.")
    size = Gauge("Size", of=lambda log: log.size_bytes, unit="bytes", about="Bytes of all segments.")


class FutureLogMetrics(Fleet, group="kafka.log:type=Log", tags=("is-future", "topic", "partition")):
    """The same of replicas that are being moved here from another directory."""

    num_log_segments = Gauge("NumLogSegments", of=lambda log: len(log.segments), about="Segment files.")
    log_start_offset = Gauge("LogStartOffset", of=lambda log: log.log_start_offset, about="First offset.")
    log_end_offset = Gauge("LogEndOffset", of=lambda log: log.log_end_offset, about="Next offset.")
    size = Gauge("Size", of=lambda log: log.size_bytes, unit="bytes", about="Bytes of all segments.")


class FlushMetrics(MetricTable, group="kafka.log:type=LogFlushStats"):
    """Flushes of all logs."""

    log_flush = Timing("LogFlushRateAndTimeMs", unit="ms", about="Flushes: how often and how long.")


class LogManagerMetrics(MetricTable, group="kafka.log:type=LogManager"):
    """All directories together; the owner is the LogDirs."""

    offline_log_directories = Gauge(
        "OfflineLogDirectoryCount", of=lambda dirs: len(dirs.offline_directories), about="Failed log directories."
    )


class LogDirectoryMetrics(MetricTable, group="kafka.log:type=LogManager", tags=("logDirectory",)):
    """One directory; the owner is the LogDir."""

    offline = Gauge(
        "LogDirectoryOffline", of=lambda log_dir: 0 if log_dir.is_online else 1, about="1 when the directory failed."
    )


class LogMeters:
    """The metrics of the logs that live here: known from `add` to `remove`. Without a registry nothing is measured."""

    def __init__(self, registry: MetricRegistry | None) -> None:
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._futures: dict[TopicPartition, PartitionLog] = {}
        self.flushes = None if registry is None else FlushMetrics(registry)
        if registry is not None:
            LogMetrics(registry, lambda: [((tp[0], str(tp[1])), log) for tp, log in self._logs.items()])
            FutureLogMetrics(
                registry, lambda: [(("true", tp[0], str(tp[1])), log) for tp, log in self._futures.items()]
            )

    def add(self, log: PartitionLog) -> None:
        """Begins to measure a log."""
        (self._futures if log.is_future else self._logs)[log.topic_partition] = log

    def remove(self, log: PartitionLog) -> None:
        """Forgets a log that is gone."""
        (self._futures if log.is_future else self._logs).pop(log.topic_partition, None)

    def flushed(self, took_ms: float) -> None:
        """Notes a flush."""
        if self.flushes is not None:
            self.flushes.log_flush.update(took_ms)
