"""Log manager: opens all logs of a broker at start-up, creates, maintains and deletes logs, closes them at shutdown.

`open`, `load` and `shutdown` block; everything else runs on the loop and moves blocking work to the background. Knows
nothing of roles, requests or ZooKeeper.
Source: docs/reference/log.md, sections 12 to 15 and 17.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.log.cleaner import Cleaner
from kafka_py.log.descriptions import DescribedLogDir as DescribedLogDir
from kafka_py.log.descriptions import describe_directory
from kafka_py.log.disk import filenames
from kafka_py.log.disk.background import Background, InlineBackground
from kafka_py.log.disk.context import LATER, PRODUCER_EXPIRATION_MS, LogContext, at_once, ignore_flush
from kafka_py.log.disk.files import Files
from kafka_py.log.disk.handles import MOST_OPEN, OpenHandles
from kafka_py.log.future_logs import FutureLogs
from kafka_py.log.loading import log_directories
from kafka_py.log.loading.closing import close_directory
from kafka_py.log.loading.loading import LoadedDirectory
from kafka_py.log.loading.log_dir import LogDir, LogDirError
from kafka_py.log.loading.log_directories import LoadReport
from kafka_py.log.loading.meta_properties import MetaProperties
from kafka_py.log.loading.offset_checkpoints import OffsetCheckpoints
from kafka_py.log.loading.placement import LogDirPlacement
from kafka_py.log.loading.recovery import open_log
from kafka_py.log.log_registry import LogRegistry
from kafka_py.log.log_removal import LogRemoval
from kafka_py.log.metrics import (
    LogDirectoryMetrics,
    LogManagerMetrics,
    measure_cleaner,
    measure_cleaner_io,
    measure_flushes,
    measure_logs,
)
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.log.model.configs import LogConfig
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.upkeep import Upkeep

_log = logging.getLogger(__name__)

_PRODUCER_EXPIRY_CHECK_MS = 600_000
_IDLE_HANDLES_CHECK_MS = 10_000


class LogManager:
    """The log directories of a broker and the logs in them.

    cleaner_background: threads for compactions, which take long; default: `background`.
    later: calls back on the loop after a delay in ms (Timers.schedule).
    on_failure: called on the loop, after the call that met the error, with a directory that went offline and its
        partitions; `live_directories` is empty when it was the last one.
    """

    def __init__(
        self,
        options: LogOptions,
        files: Files,
        clock: Clock,
        chance: Chance,
        *,
        background: Background | None = None,
        cleaner_background: Background | None = None,
        later: LATER | None = None,
        on_failure: Callable[[str, Exception, list[TopicPartition]], None] | None = None,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
        flush_in_append: bool = True,
        max_open_handles: int = MOST_OPEN,
        metrics: MetricRegistry | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        self.options = options
        self.on_failure = on_failure
        self._clock = clock
        self.loaded: list[LoadReport] = []
        """Result of loading each directory."""
        self._later = later
        self.background: Background = InlineBackground() if background is None else background
        """Runs blocking work of these logs."""
        self._handles = OpenHandles(max_open_handles)
        self._logs = LogRegistry()
        self._to_delete: list[tuple[LogDir, str]] = []
        self._stopped = False
        self._default_config = LogConfig.for_topic(options)
        self._dirs: dict[str, LogDir] = {}
        self._placement = LogDirPlacement(self._dirs, self._logs.counts)
        self._checkpoints = OffsetCheckpoints(self._dirs, clock, later, self._logs.all, self._io_failed)
        self._removal = LogRemoval(self._dirs, chance.new_uuid, self._io_failed)
        supervisor = Supervisor(clock) if supervisor is None else supervisor
        self.cleaner = self._make_cleaner(cleaner_background, supervisor, metrics)
        self.futures = FutureLogs(
            self._dirs, self._placement, self._logs, self._checkpoints, self.cleaner, self._removal,
            new_uuid=chance.new_uuid, io_failed=self._io_failed,
        )  # fmt: skip
        """The future replicas, which are being moved to another directory."""
        self.upkeep = Upkeep(
            clock, later, supervisor, self.background, all_logs=self._logs.all, is_current=self._logs.is_current,
            is_compacting=self.cleaner.is_compacting,
        )  # fmt: skip
        context_of = partial(
            LogContext, files=files, clock=clock, handles=self._handles, background=self.background,
            later=at_once if later is None else later, io_failed=self._io_failed, flush_in_append=flush_in_append,
            producer_expiration_ms=producer_expiration_ms, checkpoints_lowered=self._checkpoints.lowered,
            settle_checkpoints=self._checkpoints.settle,
            flushed=ignore_flush if metrics is None else measure_flushes(metrics),
        )  # fmt: skip
        for path in map(os.path.abspath, options.log_directories):
            if path in self._dirs:
                raise LogDirError(f"log directory {path} is configured twice")
            self._dirs[path] = LogDir(path, context_of(path, rng=chance.generator()), self._failed_callback(path))
        if metrics is not None:
            self._measure(metrics)

    def _make_cleaner(
        self, background: Background | None, supervisor: Supervisor, metrics: MetricRegistry | None
    ) -> Cleaner:
        return Cleaner(
            self.options,
            self._clock,
            self.background if background is None else background,
            self._later,
            logs=self._logs,
            save=lambda path: self._checkpoints.write(filenames.CLEANER_CHECKPOINT, only=path),
            io_failed=self._io_failed,
            after=lambda log: self.upkeep.apply_retention(log),
            supervisor=supervisor,
            processed=None if metrics is None else measure_cleaner_io(metrics),
        )

    def _measure(self, metrics: MetricRegistry) -> None:
        measure_logs(metrics, self._logs)
        for path, log_dir in self._dirs.items():
            LogDirectoryMetrics(metrics, log_dir, logDirectory=path)
        LogManagerMetrics(metrics, self)
        measure_cleaner(metrics, self.cleaner, self._dirs)

    # ---- start-up

    def open(self) -> None:
        """Creates, checks and locks the directories; see `open_directories`. Blocks.

        Raises LogDirError.
        """
        log_directories.open_directories(self._dirs.values())

    def read_meta(self) -> MetaProperties:
        """The common content of the meta.properties files; see `read_agreed_meta`. Blocks."""
        return log_directories.read_agreed_meta(self._live())

    def write_meta(self, meta: MetaProperties) -> None:
        """Writes meta.properties where it is missing or incomplete. Blocks."""
        log_directories.write_missing_meta(self._live(), meta, self._io_failed)

    def load(self, config_of: Callable[[str], LogConfig] | None = None) -> None:
        """Opens every log, in parallel threads; recovers where the last stop was not clean.

        Blocks, for long after a crash. May be called from any thread, because nothing else uses the logs yet.

        config_of: the settings of a topic; default: the broker's. Raises LogDirError for a subdirectory that belongs to
            no partition, for a partition that is in two directories, and when all directories have failed.
        """
        config_of = config_of or (lambda _topic: self._default_config)
        threads = self.options.num_recovery_threads_per_data_dir
        for log_dir, found, took_ms in log_directories.load_directories(self._live(), config_of, threads, self._clock):
            if found.error is None:
                self._take(log_dir, found)
            else:
                log_dir.go_offline(found.error)
            self.loaded.append(LoadReport(log_dir.path, found.log_count, found.is_clean, took_ms, found.error))
        log_directories.require_one(self._dirs.values())

    def _take(self, log_dir: LogDir, found: LoadedDirectory) -> None:
        for log in (*found.logs, *found.futures):
            other = self._logs.add(log)
            if other is not log:
                raise LogDirError(f"{log.topic_partition} is in both {other.directory} and {log.directory}")
        self.futures.note_loaded(found.futures)
        self._to_delete += [(log_dir, path) for path in found.to_delete]

    # ---- logs

    @property
    def live_directories(self) -> list[str]:
        """The online directories."""
        return [log_dir.path for log_dir in self._live()]

    @property
    def offline_directories(self) -> list[str]:
        """The failed directories."""
        return [log_dir.path for log_dir in self._dirs.values() if not log_dir.is_online]

    def get(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """The present log of a partition; None when there is none."""
        return self._logs.present.get(topic_partition)

    def all_logs(self) -> Iterable[PartitionLog]:
        """Every log, including future ones."""
        return self._logs.all()

    def is_live(self, directory: str) -> bool:
        """See `LogDirPlacement.is_live`."""
        return self._placement.is_live(directory)

    def prefer(self, topic_partition: TopicPartition, directory: str) -> None:
        """See `LogDirPlacement.prefer`."""
        self._placement.prefer(topic_partition, directory)

    def get_or_create(
        self,
        topic_partition: TopicPartition,
        config: LogConfig | None = None,
        is_new: bool = True,
        topic_id: TopicId | None = None,
    ) -> PartitionLog:
        """The log of a partition; if there is none, creates it in the directory that LogDirPlacement selects.

        is_new: the partition never had a log; if False, its log may be in an offline directory.
        Raises KafkaError(KAFKA_STORAGE_ERROR), also for a partition that is not new while a directory is offline;
            INCONSISTENT_TOPIC_ID when its directory belongs to another topic id; INVALID_TOPIC_EXCEPTION for a name or
            a number that cannot be part of a directory name.
        """
        log = self._logs.present.get(topic_partition)
        if log is None:
            if not filenames.can_have_directory(topic_partition):
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic_partition} cannot have a directory")
            if not is_new and self.offline_directories:
                raise KafkaError(
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    f"an offline directory may hold {topic_partition}: {', '.join(self.offline_directories)}",
                )
            log_dir = self._placement.directory_for(topic_partition)
            log = self._create(log_dir, topic_partition, config or self._default_config)
        if topic_id is not None:
            log.topic_id_file.assign(topic_id)
        return log

    def _create(self, log_dir: LogDir, topic_partition: TopicPartition, config: LogConfig) -> PartitionLog:
        directory = log_dir.file(filenames.partition_directory(topic_partition))
        self._checkpoints.settle_before_creation(topic_partition)
        try:
            log_dir.context.files.make_directory(directory)
            log = open_log(topic_partition, directory, config, log_dir.context, is_clean=True)
        except OSError as error:
            self._io_failed(log_dir.path, error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"cannot create {directory}: {error}") from error
        self._logs.add(log)
        self._placement.placed(topic_partition)
        _log.debug("created the log of %s in %s", topic_partition, log_dir.path)
        return log

    def delete(self, topic_partition: TopicPartition) -> None:
        """Renames the partition's directory at once, and removes it after file.delete.delay.ms.

        Raises KafkaError(KAFKA_STORAGE_ERROR).
        """
        self.futures.drop(topic_partition)
        log = self._logs.present.get(topic_partition)
        if log is None:
            return
        self._removal.retire(log)  # if this fails, the log is among those of the failed directory
        self._logs.remove(log)
        self.cleaner.forget(topic_partition)
        self._checkpoints.removed(topic_partition)

    def logs_of(self, topic: str) -> list[PartitionLog]:
        """The logs of a topic, including future ones."""
        return [log for log in self.all_logs() if log.topic_partition.topic == topic]

    # ---- upkeep

    def start_tasks(self) -> None:
        """Starts the periodic tasks: retention, flushes, checkpoints, producer expiry, release of idle files.

        Directories that were marked for deletion before the start are removed after file.delete.delay.ms.
        """
        options, upkeep = self.options, self.upkeep
        for log_dir, path in self._to_delete:
            self._removal.remove_later(log_dir, path, options.log_segment_delete_delay_ms)
        self._to_delete.clear()
        recovery_ms = options.log_flush_offset_checkpoint_interval_ms
        start_ms = options.log_flush_start_offset_checkpoint_interval_ms
        upkeep.every(options.log_retention_check_interval_ms, upkeep.delete_old_segments, "retention")
        upkeep.every(options.log_flush_scheduler_interval_ms, upkeep.flush_dirty_logs, "flush of logs")
        upkeep.every(recovery_ms, self.checkpoint_recovery_points, "recovery point checkpoint")
        upkeep.every(start_ms, self.checkpoint_log_start_offsets, "log start checkpoint")
        upkeep.every(_PRODUCER_EXPIRY_CHECK_MS, upkeep.remove_expired_producers, "expiry of producers")
        upkeep.every(_IDLE_HANDLES_CHECK_MS, self._handles.close_idle, "idle files")
        self.cleaner.start()

    def checkpoint_high_watermarks(self, *, now: bool = False) -> None:
        """Writes the high watermarks of every directory, in the background or with `now` before it returns."""
        self._checkpoints.write(filenames.HIGH_WATERMARK_CHECKPOINT, now=now)

    def checkpoint_recovery_points(self) -> None:
        """Writes the recovery point of each log."""
        self._checkpoints.write(filenames.RECOVERY_POINT_CHECKPOINT)

    def checkpoint_log_start_offsets(self) -> None:
        """Writes the log start offsets that are above the first segment's base offset."""
        self._checkpoints.write(filenames.LOG_START_CHECKPOINT)

    def describe(self, wanted: Callable[[TopicPartition], bool] = lambda _: True) -> list[DescribedLogDir]:
        """Every directory with the logs in it, as DescribeLogDirs answers."""
        logs = [log for log in self.all_logs() if wanted(log.topic_partition)]
        return [describe_directory(log_dir, logs, self.get) for log_dir in self._dirs.values()]

    # ---- failure and shutdown

    def _live(self) -> list[LogDir]:
        return [log_dir for log_dir in self._dirs.values() if log_dir.is_online]

    def _failed_callback(self, path: str) -> Callable[[Exception], None]:
        """Error callback for a directory's background work: takes it offline on disk errors, logs all others."""

        def failed(error: Exception) -> None:
            if isinstance(error, OSError):
                self._io_failed(path, error)
            else:  # for example when no thread could be started
                _log.error("%s: background work failed", path, exc_info=error)

        return failed

    def _io_failed(self, path: str, error: Exception) -> None:
        """Takes a directory offline with its logs; `on_failure` is called in the next iteration of the loop."""
        log_dir = self._dirs[path]
        if not log_dir.is_online:
            return
        log_dir.go_offline(error)
        lost: list[TopicPartition] = []
        for log in self._logs.in_directory(path):
            log.failures.disable(f"in the offline directory {path}")
            lost.append(log.topic_partition)
            if self.get(log.topic_partition) is log:
                self.cleaner.forget(log.topic_partition)
            if not self._stopped:
                self._logs.remove(log)
        on_failure = self.on_failure
        if on_failure is not None and not self._stopped:
            log_dir.context.later(0, lambda: on_failure(path, error, lost))

    def shutdown(self) -> None:
        """Flushes and closes every log, writes all checkpoints, and marks the directories that closed clean. Blocks.

        May run in any thread, after the loop has stopped using the logs and all background work has ended.
        """
        self._stopped = True
        self.upkeep.stop()
        self.cleaner.stop()
        self._checkpoints.settle()
        self._checkpoints.stop()
        self.checkpoint_high_watermarks(now=True)
        live = self._live()
        threads = self.options.num_recovery_threads_per_data_dir

        def close(log_dir: LogDir) -> None:
            close_directory(log_dir, self._logs.in_directory(log_dir.path), threads)

        with ThreadPoolExecutor(max(len(live), 1), thread_name_prefix="log-closing") as pool:
            list(pool.map(close, live))

    def abandon(self) -> None:
        """Closes every file and lock without writing anything: an unclean stop."""
        self._stopped = True
        self.upkeep.stop()
        self.cleaner.stop()
        self._checkpoints.stop()
        for log in self.all_logs():
            log.failures.disable("abandoned")
        for log_dir in self._dirs.values():
            log_dir.close()
