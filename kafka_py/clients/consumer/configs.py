"""The settings of the consumer, 75 of them with those that every client has.

Source: docs/reference/configs.tsv, scope consumer.
"""

from __future__ import annotations

import logging
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Kind, Option, at_least, one_of
from kafka_py.clients.configs import ClientOptions

_log = logging.getLogger(__name__)

EARLIEST, LATEST, NONE = "earliest", "latest", "none"
READ_COMMITTED = "read_committed"


class ConsumerOptions(ClientOptions):
    """The consumer's settings: names, types and defaults."""

    allow_auto_create_topics = Option("allow.auto.create.topics", True)
    auto_commit_interval_ms = Option("auto.commit.interval.ms", 5_000, at_least(0), importance="low")
    auto_offset_reset = Option(
        "auto.offset.reset",
        LATEST,
        one_of(LATEST, EARLIEST, NONE),
        about="Where to start when there is no committed offset, or the position is out of range.",
    )
    check_crcs = Option("check.crcs", True, importance="low")
    client_id = Option("client.id", "", importance="low")
    client_rack = Option("client.rack", "", importance="low")
    default_api_timeout_ms = Option("default.api.timeout.ms", 60_000, at_least(0))
    enable_auto_commit = Option("enable.auto.commit", True)
    exclude_internal_topics = Option("exclude.internal.topics", True)
    fetch_max_bytes = Option("fetch.max.bytes", 52_428_800, at_least(0), unit="bytes")
    fetch_max_wait_ms = Option("fetch.max.wait.ms", 500, at_least(0), importance="low")
    fetch_min_bytes = Option("fetch.min.bytes", 1, at_least(0), unit="bytes", importance="high")
    group_id = Option[str | None]("group.id", None, importance="high")
    group_instance_id = Option[str | None]("group.instance.id", None)
    heartbeat_interval_ms = Option("heartbeat.interval.ms", 3_000, importance="high")
    interceptor_classes = Option[list[Any]]("interceptor.classes", [], importance="low")
    isolation_level = Option("isolation.level", "read_uncommitted", one_of(READ_COMMITTED, "read_uncommitted"))
    key_deserializer = Option[Any]("key.deserializer", None, kind=Kind.CLASS, importance="high")
    max_partition_fetch_bytes = Option(
        "max.partition.fetch.bytes", 1_048_576, at_least(0), unit="bytes", importance="high"
    )
    max_poll_interval_ms = Option("max.poll.interval.ms", 300_000, at_least(1))
    max_poll_records = Option("max.poll.records", 500, at_least(1))
    partition_assignment_strategy = Option[list[Any]](
        "partition.assignment.strategy", ["org.apache.kafka.clients.consumer.RangeAssignor"]
    )
    session_timeout_ms = Option("session.timeout.ms", 10_000, importance="high")
    value_deserializer = Option[Any]("value.deserializer", None, kind=Kind.CLASS, importance="high")

    @property
    def reads_committed(self) -> bool:
        """Whether poll returns no records of aborted transactions, and none beyond the last stable offset."""
        return self.isolation_level == READ_COMMITTED

    def validate(self) -> None:
        super().validate()
        if self.group_id is None:
            if self.enable_auto_commit and "enable.auto.commit" in self.originals:
                raise ConfigError("enable.auto.commit needs a group.id")
            self.__dict__["enable_auto_commit"] = False
        elif self.group_id == "":
            _log.warning(
                "group.id is empty: offsets are kept under the empty name, which other applications may use as well"
            )
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigError("heartbeat.interval.ms must be below session.timeout.ms")
