"""The settings of one topic (LogConfig): its own values, or else the broker's (LogOptions).

Each row names the broker setting that it falls back to. Knows no znode and no request.
Source: docs/reference/configs.tsv, scope topic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_LONG, Check, Kind, Option, OptionTable, at_least, between
from kafka_py.log.model.broker_options import (
    CODECS,
    COMPACT,
    CREATE_TIME,
    DELETE,
    FORMATS,
    GIB,
    HOUR_MS,
    LOG_APPEND_TIME,
    MIB,
    POLICIES,
    PRODUCER,
    TIMESTAMP_TYPES,
    UNCOMPRESSED,
    UNLIMITED,
    LogOptions,
)
from kafka_py.log.model.format_versions import LATEST, magic_of_version
from kafka_py.records.batch import MAGIC
from kafka_py.records.compression import Codec


def _valid_throttled_replicas(replicas: list[str]) -> bool:
    """Whether the list is `*`, or has only partition:broker pairs."""
    if replicas in ([], ["*"]):
        return True
    return all(
        len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)
        for parts in (replica.split(":") for replica in replicas)
    )


_THROTTLED = Check(_valid_throttled_replicas, "* or a list of partition:broker pairs")


class LogConfig(OptionTable):
    """The settings of one topic, typed and complete. Created by `for_topic`; shared by the topic's logs."""

    segment_bytes = Option("segment.bytes", GIB, at_least(14), unit="bytes")
    segment_ms = Option("segment.ms", 168 * HOUR_MS, at_least(1), kind=Kind.LONG, unit="ms")
    segment_jitter_ms = Option("segment.jitter.ms", 0, at_least(0), kind=Kind.LONG, unit="ms")
    segment_index_bytes = Option("segment.index.bytes", 10 * MIB, at_least(0), unit="bytes")
    flush_messages = Option("flush.messages", MAX_LONG, at_least(0), kind=Kind.LONG)
    flush_ms = Option("flush.ms", MAX_LONG, at_least(0), kind=Kind.LONG, unit="ms")
    retention_bytes = Option("retention.bytes", UNLIMITED, kind=Kind.LONG, unit="bytes")
    retention_ms = Option("retention.ms", 168 * HOUR_MS, at_least(-1), kind=Kind.LONG, unit="ms")
    max_message_bytes = Option("max.message.bytes", 1_048_588, at_least(0), unit="bytes")
    index_interval_bytes = Option("index.interval.bytes", 4096, at_least(0), unit="bytes")
    delete_retention_ms = Option("delete.retention.ms", 86_400_000, at_least(0), kind=Kind.LONG, unit="ms")
    min_compaction_lag_ms = Option("min.compaction.lag.ms", 0, at_least(0), kind=Kind.LONG, unit="ms")
    max_compaction_lag_ms = Option("max.compaction.lag.ms", MAX_LONG, at_least(1), kind=Kind.LONG, unit="ms")
    file_delete_delay_ms = Option("file.delete.delay.ms", 60_000, at_least(0), kind=Kind.LONG, unit="ms")
    min_cleanable_dirty_ratio = Option("min.cleanable.dirty.ratio", 0.5, between(0, 1))
    cleanup_policy = Option("cleanup.policy", [DELETE], POLICIES)
    unclean_leader_election_enable = Option("unclean.leader.election.enable", False)
    min_insync_replicas = Option("min.insync.replicas", 1, at_least(1))
    compression_type = Option("compression.type", PRODUCER, CODECS)
    preallocate = Option("preallocate", False)
    message_format_version = Option("message.format.version", LATEST, FORMATS)
    message_timestamp_type = Option("message.timestamp.type", CREATE_TIME, TIMESTAMP_TYPES)
    message_timestamp_difference_max_ms = Option(
        "message.timestamp.difference.max.ms", MAX_LONG, at_least(0), kind=Kind.LONG, unit="ms"
    )
    leader_replication_throttled_replicas = Option[list[str]](
        "leader.replication.throttled.replicas", [], _THROTTLED,
        about="Replicas, as partition:broker, whose leader sends no more than leader.replication.throttled.rate; "
        "* means all.",
    )
    follower_replication_throttled_replicas = Option[list[str]](
        "follower.replication.throttled.replicas", [], _THROTTLED,
        about="Replicas, as partition:broker, that copy no more than follower.replication.throttled.rate; * means all.",
    )
    message_downconversion_enable = Option("message.downconversion.enable", True, importance="low")

    target_codec: Codec | None
    """The codec that batches are stored with; None keeps the producer's."""
    is_compacted: bool
    is_deletable: bool
    stamps_append_time: bool
    """Whether the broker's clock stamps the records."""
    checks_timestamps: bool
    """Whether a producer's timestamps may be rejected."""
    roll_ms: int
    """The roll age in ms; not above max.compaction.lag.ms, because the active segment is not compacted."""
    takes_as_sent: bool
    """Whether no setting requires reading a producer's records or changing the batch."""
    changes_records: bool
    """Whether batches of the broker itself are checked, or stored otherwise than they are written."""
    magic: int
    """The record format of message.format.version."""

    @classmethod
    def for_topic(cls, broker: LogOptions | None = None, overrides: Mapping[str, object] | None = None) -> Self:
        """The settings of a topic on this broker; unknown names in `overrides` are ignored.

        Raises ConfigError for the first invalid value.
        """
        given = dict(overrides or {})
        config = cls.__new__(cls)
        config.originals = given
        config.unknown = [name for name in given if name not in cls.ROWS]
        for name, row in cls.ROWS.items():
            if name in given:
                value = row.parse(given[name])
            elif broker is not None and name in _BROKER_VALUES:
                value = _BROKER_VALUES[name](broker)
            else:
                value = row.default
            config.__dict__[row.attribute] = list(value) if isinstance(value, list) else value
        config.validate()
        return config

    @classmethod
    def check(cls, overrides: Mapping[str, object], broker: LogOptions | None = None) -> None:
        """Raises ConfigError for an unknown name or an invalid value."""
        for name in overrides:
            if name not in cls.ROWS:
                raise ConfigError(f"Unknown topic config name: {name}")
        cls.for_topic(broker, overrides)

    def validate(self) -> None:
        super().validate()
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise ConfigError(
                f"Invalid value {self.max_compaction_lag_ms} for configuration max.compaction.lag.ms: "
                f"it must not be below min.compaction.lag.ms, which is {self.min_compaction_lag_ms}"
            )
        self.is_compacted = COMPACT in self.cleanup_policy
        self.is_deletable = DELETE in self.cleanup_policy
        self.roll_ms = min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms
        self.stamps_append_time = self.message_timestamp_type == LOG_APPEND_TIME
        self.checks_timestamps = self.message_timestamp_difference_max_ms != MAX_LONG and not self.stamps_append_time
        self.magic = magic_of_version(self.message_format_version)
        self.target_codec = _TARGET_CODECS[self.compression_type]
        self.changes_records = self.target_codec is not None or self.checks_timestamps or self.magic < MAGIC
        self.takes_as_sent = not (self.changes_records or self.is_compacted or self.stamps_append_time)

    def describe_values(self) -> Iterator[tuple[Option[Any], str | None]]:
        """Every setting with its effective value as text, in order of declaration."""
        for row in self.describe():
            yield row, row.text(getattr(self, row.attribute))


_TARGET_CODECS: dict[str, Codec | None] = {
    PRODUCER: None,
    UNCOMPRESSED: Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}

TOPIC_SYNONYMS: dict[str, tuple[str, ...]] = {
    **{row.topic: (row.name,) for row in LogOptions.describe() if row.topic is not None},
    "segment.ms": ("log.roll.ms", "log.roll.hours"),
    "segment.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "flush.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}
"""The broker settings that a topic setting falls back to, in order of precedence, as DescribeConfigs lists them."""

_IN_FORCE: dict[str, Callable[[LogOptions], Any]] = {
    "segment.ms": lambda broker: broker.roll_ms,
    "segment.jitter.ms": lambda broker: broker.roll_jitter_ms,
    "retention.ms": lambda broker: broker.retention_ms,
    "flush.ms": lambda broker: broker.flush_interval_ms,
}

_BROKER_VALUES: dict[str, Callable[[LogOptions], Any]] = {
    **{
        topic_name: operator.attrgetter(LogOptions.ROWS[names[0]].attribute)
        for topic_name, names in TOPIC_SYNONYMS.items()
    },
    **_IN_FORCE,
}
