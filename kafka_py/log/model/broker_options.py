"""The broker's settings for its logs, and the values that the topic settings share with them.

A topic setting (configs.py) falls back to one of these. Knows no znode and no request.
Source: docs/reference/configs.tsv, scope broker (log.*).
"""

from __future__ import annotations

import sys

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_LONG, Check, Kind, Live, Option, OptionTable, at_least, list_of, one_of
from kafka_py.log.model.format_versions import LATEST, valid_version

GIB = 1 << 30
MIB = 1 << 20
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
UNLIMITED = -1

CREATE_TIME = "CreateTime"
LOG_APPEND_TIME = "LogAppendTime"
DELETE = "delete"
COMPACT = "compact"
PRODUCER = "producer"
UNCOMPRESSED = "uncompressed"

_CLUSTER = Live.CLUSTER_WIDE
POLICIES = list_of(COMPACT, DELETE)
CODECS = one_of(UNCOMPRESSED, "zstd", "lz4", "snappy", "gzip", PRODUCER)
TIMESTAMP_TYPES = one_of(CREATE_TIME, LOG_APPEND_TIME)
FORMATS = Check(valid_version, "a version from 0.8.0 to 2.8-IV1, or its short form such as 2.6")


class LogOptions(OptionTable):
    """The log settings of a broker, which are also the defaults of the topic settings."""

    message_max_bytes = Option(
        "message.max.bytes", 1_048_588, at_least(0), topic="max.message.bytes", live=_CLUSTER, importance="high",
        unit="bytes", about="The largest batch a producer may send, as compressed.",
    )
    log_dir = Option(
        "log.dir", "/tmp/kafka-logs", importance="high", about="The directory of the logs when log.dirs is not set.",
    )
    log_dirs = Option(
        "log.dirs", None, kind=Kind.STRING, importance="high",
        about="Comma list of log directories; each partition is stored in one of them.",
    )
    log_segment_bytes = Option(
        "log.segment.bytes", GIB, at_least(14), topic="segment.bytes", live=_CLUSTER, importance="high", unit="bytes",
        about="The active segment is rolled before it would exceed this size.",
    )
    log_roll_ms = Option(
        "log.roll.ms", None, at_least(1), kind=Kind.LONG, topic="segment.ms", live=_CLUSTER, importance="high",
        unit="ms", about="The active segment is rolled at this age; unset means log.roll.hours.",
    )
    log_roll_hours = Option(
        "log.roll.hours", 168, at_least(1), importance="high", unit="h", about="Used when log.roll.ms is not set.",
    )
    log_roll_jitter_ms = Option(
        "log.roll.jitter.ms", None, at_least(0), kind=Kind.LONG, topic="segment.jitter.ms", live=_CLUSTER,
        importance="high", unit="ms",
        about="Up to this much is taken from the roll age at random; unset means log.roll.jitter.hours.",
    )
    log_roll_jitter_hours = Option(
        "log.roll.jitter.hours", 0, at_least(0), importance="high", unit="h",
        about="Used when log.roll.jitter.ms is not set.",
    )
    log_retention_ms = Option(
        "log.retention.ms", None, kind=Kind.LONG, topic="retention.ms", live=_CLUSTER, importance="high", unit="ms",
        about="Segments older than this are deleted; negative means never, unset log.retention.minutes.",
    )
    log_retention_minutes = Option(
        "log.retention.minutes", None, kind=Kind.INT, importance="high", unit="min",
        about="Used when log.retention.ms is not set; unset means log.retention.hours.",
    )
    log_retention_hours = Option(
        "log.retention.hours", 168, importance="high", unit="h", about="Used when neither ms nor minutes are set.",
    )
    log_retention_bytes = Option(
        "log.retention.bytes", UNLIMITED, kind=Kind.LONG, topic="retention.bytes", live=_CLUSTER, importance="high",
        unit="bytes", about="Oldest segments are deleted while the partition is larger than this; -1 means no limit.",
    )
    log_retention_check_interval_ms = Option(
        "log.retention.check.interval.ms", 300_000, at_least(1), kind=Kind.LONG, unit="ms",
        about="How often the logs are checked for segments to delete.",
    )
    log_cleanup_policy = Option(
        "log.cleanup.policy", [DELETE], POLICIES, topic="cleanup.policy", live=_CLUSTER,
        about="delete: old segments are deleted; compact: the last record of each key is kept; both are possible.",
    )
    log_cleaner_threads = Option(
        "log.cleaner.threads", 1, at_least(0), live=_CLUSTER, about="How many logs are compacted at once.",
    )
    log_cleaner_io_max_bytes_per_second = Option(
        "log.cleaner.io.max.bytes.per.second", sys.float_info.max, live=_CLUSTER, unit="bytes/s",
        about="Bound on the sum of compaction's reads and writes.",
    )
    log_cleaner_dedupe_buffer_size = Option(
        "log.cleaner.dedupe.buffer.size", 128 * MIB, kind=Kind.LONG, live=_CLUSTER, unit="bytes",
        about="Memory for the keys of compaction, all threads together; more than 1 MiB for each.",
    )
    log_cleaner_io_buffer_size = Option(
        "log.cleaner.io.buffer.size", 512 * 1024, at_least(0), live=_CLUSTER, unit="bytes",
        no_effect="a compaction reads and writes pieces of a fixed size",
        about="Memory for the reads and writes of compaction, all threads together.",
    )
    log_cleaner_io_buffer_load_factor = Option(
        "log.cleaner.io.buffer.load.factor", 0.9, live=_CLUSTER, about="How full the key table may become.",
    )
    log_cleaner_backoff_ms = Option(
        "log.cleaner.backoff.ms", 15_000, at_least(0), kind=Kind.LONG, live=_CLUSTER, unit="ms",
        about="Pause when there is nothing to compact.",
    )
    log_cleaner_min_cleanable_ratio = Option(
        "log.cleaner.min.cleanable.ratio", 0.5, topic="min.cleanable.dirty.ratio", live=_CLUSTER,
        about="A log is compacted when at least this part of it is dirty.",
    )
    log_cleaner_enable = Option(
        "log.cleaner.enable", True, about="Whether compaction runs; topics with cleanup.policy=compact need it.",
    )
    log_cleaner_delete_retention_ms = Option(
        "log.cleaner.delete.retention.ms", 86_400_000, kind=Kind.LONG, topic="delete.retention.ms", live=_CLUSTER,
        unit="ms", about="How long compaction keeps tombstones and transaction markers.",
    )
    log_cleaner_min_compaction_lag_ms = Option(
        "log.cleaner.min.compaction.lag.ms", 0, kind=Kind.LONG, topic="min.compaction.lag.ms", live=_CLUSTER,
        unit="ms", about="Younger records are not compacted.",
    )
    log_cleaner_max_compaction_lag_ms = Option(
        "log.cleaner.max.compaction.lag.ms", MAX_LONG, kind=Kind.LONG, topic="max.compaction.lag.ms", live=_CLUSTER,
        unit="ms", about="Older records are compacted whatever the dirty ratio.",
    )
    log_index_size_max_bytes = Option(
        "log.index.size.max.bytes", 10 * MIB, at_least(4), topic="segment.index.bytes", live=_CLUSTER, unit="bytes",
        about="Size of an index file, rounded down to whole entries; a full index rolls the segment.",
    )
    log_index_interval_bytes = Option(
        "log.index.interval.bytes", 4096, at_least(0), topic="index.interval.bytes", live=_CLUSTER, unit="bytes",
        about="Data between two index entries.",
    )
    log_flush_interval_messages = Option(
        "log.flush.interval.messages", MAX_LONG, at_least(1), kind=Kind.LONG, topic="flush.messages", live=_CLUSTER,
        importance="high", about="Records of a partition after which it is synced to disk.",
    )
    log_segment_delete_delay_ms = Option(
        "log.segment.delete.delay.ms", 60_000, at_least(0), kind=Kind.LONG, topic="file.delete.delay.ms",
        live=_CLUSTER, importance="high", unit="ms", about="How long a deleted file stays on disk.",
    )
    log_flush_scheduler_interval_ms = Option(
        "log.flush.scheduler.interval.ms", MAX_LONG, kind=Kind.LONG, importance="high", unit="ms",
        about="How often the logs are checked for data older than log.flush.interval.ms.",
    )
    log_flush_interval_ms = Option(
        "log.flush.interval.ms", None, kind=Kind.LONG, topic="flush.ms", live=_CLUSTER, importance="high", unit="ms",
        about="Unsynced data is synced at this age; unset means log.flush.scheduler.interval.ms.",
    )
    log_flush_offset_checkpoint_interval_ms = Option(
        "log.flush.offset.checkpoint.interval.ms", 60_000, at_least(0), importance="high", unit="ms",
        about="How often the recovery points are written to disk.",
    )
    log_flush_start_offset_checkpoint_interval_ms = Option(
        "log.flush.start.offset.checkpoint.interval.ms", 60_000, at_least(0), importance="high", unit="ms",
        about="How often the log start offsets are written to disk.",
    )
    log_preallocate = Option(
        "log.preallocate", False, topic="preallocate", live=_CLUSTER,
        about="Whether a new segment file is allocated with its full size.",
    )
    num_recovery_threads_per_data_dir = Option(
        "num.recovery.threads.per.data.dir", 1, at_least(1), live=_CLUSTER, importance="high",
        about="Threads that load a directory's logs at the start and flush them at the stop.",
    )
    min_insync_replicas = Option(
        "min.insync.replicas", 1, at_least(1), topic="min.insync.replicas", live=_CLUSTER, importance="high",
        about="In-sync replicas that a write with acks=all needs.",
    )
    log_message_format_version = Option(
        "log.message.format.version", LATEST, FORMATS, topic="message.format.version",
        about="The release whose record format is written.",
    )
    log_message_timestamp_type = Option(
        "log.message.timestamp.type", CREATE_TIME, TIMESTAMP_TYPES, topic="message.timestamp.type", live=_CLUSTER,
        about="Whose clock stamps a record: the producer's or the broker's.",
    )
    log_message_timestamp_difference_max_ms = Option(
        "log.message.timestamp.difference.max.ms", MAX_LONG, at_least(0), kind=Kind.LONG,
        topic="message.timestamp.difference.max.ms", live=_CLUSTER, unit="ms",
        about="How far a producer's timestamp may be from the broker's clock.",
    )
    log_message_downconversion_enable = Option(
        "log.message.downconversion.enable", True, topic="message.downconversion.enable", live=_CLUSTER,
        importance="low",
        about="Whether records are converted for consumers that know older formats only.",
    )
    unclean_leader_election_enable = Option(
        "unclean.leader.election.enable", False, topic="unclean.leader.election.enable", live=_CLUSTER,
        importance="high", about="Whether a replica outside the in-sync set may lead, losing records.",
    )
    compression_type = Option(
        "compression.type", PRODUCER, CODECS, topic="compression.type", live=_CLUSTER, importance="high",
        about="The codec that batches are stored with; producer keeps the producer's codec.",
    )

    def validate(self) -> None:
        super().validate()
        if not self.log_directories:
            raise ConfigError("log.dirs names no directory")
        if not self.log_cleanup_policy:
            raise ConfigError("Invalid value for configuration log.cleanup.policy: it must not be empty")
        if self.log_cleaner_enable and self.log_cleaner_dedupe_buffer_size <= self.log_cleaner_threads * MIB:
            raise ConfigError("log.cleaner.dedupe.buffer.size must be more than 1 MiB per cleaner thread")
        for name, value in (
            ("log.retention.ms", self.log_retention_ms),
            ("log.retention.minutes", self.log_retention_minutes),
            ("log.retention.hours", self.log_retention_hours),
        ):
            if value == 0:
                raise ConfigError(f"Invalid value 0 for configuration {name}: it must be -1 or at least 1")

    @property
    def log_directories(self) -> list[str]:
        """The directories of log.dirs, or else of log.dir; either may be a comma list."""
        text = self.log_dirs if self.log_dirs is not None else self.log_dir
        return [path.strip() for path in text.split(",") if path.strip()]

    @property
    def roll_ms(self) -> int:
        """The effective roll age, in ms."""
        return self.log_roll_hours * HOUR_MS if self.log_roll_ms is None else self.log_roll_ms

    @property
    def roll_jitter_ms(self) -> int:
        """The effective roll jitter, in ms."""
        return self.log_roll_jitter_hours * HOUR_MS if self.log_roll_jitter_ms is None else self.log_roll_jitter_ms

    @property
    def retention_ms(self) -> int:
        """The effective retention time, in ms; -1 for no limit."""
        if self.log_retention_ms is not None:
            value = self.log_retention_ms
        elif self.log_retention_minutes is not None:
            value = self.log_retention_minutes * MINUTE_MS
        else:
            value = self.log_retention_hours * HOUR_MS
        return UNLIMITED if value < 0 else value

    @property
    def flush_interval_ms(self) -> int:
        """The effective flush age, in ms."""
        value = self.log_flush_interval_ms
        return self.log_flush_scheduler_interval_ms if value is None else value
