"""Metrics of the log: sizes and offsets of each log, flushes, failed directories.

Source: docs/reference/metrics.tsv (rows of kafka.log).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Gauge, Rate, Timing
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.log_registry import LogRegistry


class LogMetrics(Fleet, group="kafka.log:type=Log", tags=("topic", "partition")):
    """Metrics of every present log."""

    num_log_segments = Gauge("NumLogSegments", of=lambda log: len(log.segments), about="Segment files.")
    log_start_offset = Gauge("LogStartOffset", of=lambda log: log.log_start_offset, about="First offset.")
    log_end_offset = Gauge("LogEndOffset", of=lambda log: log.log_end_offset, about="Next offset.")
    size = Gauge("Size", of=lambda log: log.size_bytes, unit="bytes", about="Bytes of all segments.")


class FutureLogMetrics(Fleet, group="kafka.log:type=Log", tags=("is-future", "topic", "partition")):
    """Metrics of every future log."""

    num_log_segments = Gauge("NumLogSegments", of=lambda log: len(log.segments), about="Segment files.")
    log_start_offset = Gauge("LogStartOffset", of=lambda log: log.log_start_offset, about="First offset.")
    log_end_offset = Gauge("LogEndOffset", of=lambda log: log.log_end_offset, about="Next offset.")
    size = Gauge("Size", of=lambda log: log.size_bytes, unit="bytes", about="Bytes of all segments.")


class FlushMetrics(MetricTable, group="kafka.log:type=LogFlushStats"):
    """Metrics of the flushes of all logs."""

    log_flush = Timing("LogFlushRateAndTimeMs", unit="ms", about="Flushes: how often and how long.")


class LogManagerMetrics(MetricTable, group="kafka.log:type=LogManager"):
    """Metrics over all directories; the owner is the log manager."""

    offline_log_directories = Gauge(
        "OfflineLogDirectoryCount", of=lambda dirs: len(dirs.offline_directories), about="Failed log directories."
    )


class LogDirectoryMetrics(MetricTable, group="kafka.log:type=LogManager", tags=("logDirectory",)):
    """Metrics of one directory; the owner is the LogDir."""

    offline = Gauge(
        "LogDirectoryOffline", of=lambda log_dir: 0 if log_dir.is_online else 1, about="1 when the directory failed."
    )


class CleanerMetrics(MetricTable, group="kafka.log:type=LogCleaner"):
    """Metrics of compactions; the owner is the Cleaner."""

    max_buffer_utilization = Gauge(
        "max-buffer-utilization-percent", of=lambda cleaner: int(cleaner.last_run.fullest_table * 100),
        unit="percent", about="How full the key table was in the last run.",
    )  # fmt: skip
    recopy = Gauge(
        "cleaner-recopy-percent", of=lambda cleaner: int(cleaner.last_run.recopied * 100), unit="percent",
        about="Bytes written by bytes read in the last run.",
    )  # fmt: skip
    max_clean_time = Gauge(
        "max-clean-time-secs", of=lambda cleaner: int(cleaner.last_run.took_s), unit="s", about="Time of the last run."
    )
    max_compaction_delay = Gauge(
        "max-compaction-delay-secs", of=lambda cleaner: int(cleaner.last_run.overdue_s), unit="s",
        about="By how much the last run exceeded max.compaction.lag.ms.",
    )  # fmt: skip
    dead_threads = Gauge("DeadThreadCount", of=lambda _cleaner: 0, about="Always 0: no permanent threads.")


class CleanerManagerMetrics(MetricTable, group="kafka.log:type=LogCleanerManager"):
    """Metrics of dirty logs; the owner is the Cleaner."""

    max_dirty = Gauge(
        "max-dirty-percent", of=lambda cleaner: int(cleaner.dirtiest_ratio * 100), unit="percent",
        about="Dirty ratio of the dirtiest log at the last scan.",
    )  # fmt: skip
    since_last_run = Gauge(
        "time-since-last-run-ms", of=lambda cleaner: cleaner.since_scan_ms, unit="ms", about="Time since the last scan."
    )


class UncleanableMetrics(MetricTable, group="kafka.log:type=LogCleanerManager", tags=("logDirectory",)):
    """Metrics of the uncleanable logs in one directory; the owner is a function that lists them."""

    partitions = Gauge(
        "uncleanable-partitions-count", of=lambda uncleanable: len(uncleanable()),
        about="Logs that are not compacted because a compaction failed.",
    )  # fmt: skip
    size = Gauge(
        "uncleanable-bytes", of=lambda uncleanable: sum(log.size_bytes for log in uncleanable()), unit="bytes",
        about="Bytes of those logs.",
    )  # fmt: skip


class CleanerThroughput(MetricTable, group="kafka.utils:type=Throttler"):
    """Throughput of compaction."""

    cleaner_io = Rate("cleaner-io", unit="bytes", about="Bytes read and written.")


def measure_logs(registry: MetricRegistry, logs: LogRegistry) -> None:
    """Registers the metrics of the logs."""
    present, future = logs.present, logs.future
    LogMetrics(
        registry, lambda: (((tp[0], str(tp[1])), log) for tp, log in list(present.items())), lambda: len(present)
    )
    FutureLogMetrics(
        registry, lambda: ((("true", tp[0], str(tp[1])), log) for tp, log in list(future.items())), lambda: len(future)
    )


def measure_flushes(registry: MetricRegistry) -> Callable[[float], None]:
    """Registers the metrics of flushes; the result is called after each flush with its duration in ms."""
    flushes = FlushMetrics(registry)
    return lambda took_ms: flushes.log_flush.update(took_ms)


def measure_cleaner_io(registry: MetricRegistry) -> Callable[[int], None]:
    """Registers the throughput of compaction; the result is called with the bytes of each compaction."""
    throughput = CleanerThroughput(registry)

    def count(size: int) -> None:
        throughput.cleaner_io += size

    return count


def measure_cleaner(registry: MetricRegistry, cleaner: Cleaner, directories: Iterable[str]) -> None:
    """Registers the other metrics of compaction."""
    CleanerMetrics(registry, cleaner)
    CleanerManagerMetrics(registry, cleaner)
    for directory in directories:
        UncleanableMetrics(registry, partial(cleaner.uncleanable_in, directory), logDirectory=directory)
