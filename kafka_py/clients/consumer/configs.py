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

    allow_auto_create_topics = Option(
        "allow.auto.create.topics", True,
        about="Whether asking for a missing topic may create it, where brokers allow that.",
    )
    auto_commit_interval_ms = Option(
        "auto.commit.interval.ms", 5_000, at_least(0), importance="low",
        about="Time between two automatic commits of offsets.",
    )
    auto_offset_reset = Option(
        "auto.offset.reset",
        LATEST,
        one_of(LATEST, EARLIEST, NONE),
        about="Where to start when there is no committed offset, or the position is out of range.",
    )
    check_crcs = Option(
        "check.crcs", True, importance="low", about="Whether checksums of fetched batches are verified."
    )
    client_id = Option("client.id", "", importance="low", about="Sent with every request; by default a generated one.")
    client_rack = Option(
        "client.rack", "", importance="low",
        about="Where this consumer is: brokers then name a replica in the same rack to read from (KIP-392).",
    )
    default_api_timeout_ms = Option(
        "default.api.timeout.ms", 60_000, at_least(0), about="Time limit of a call that is given none."
    )
    enable_auto_commit = Option(
        "enable.auto.commit", True, about="Whether poll and close commit by themselves what was returned."
    )
    exclude_internal_topics = Option(
        "exclude.internal.topics", True, about="Whether a subscribed pattern leaves out the brokers' own topics."
    )
    fetch_max_bytes = Option(
        "fetch.max.bytes", 52_428_800, at_least(0), unit="bytes",
        about="Most that one fetch response may have; a first batch that is larger is sent all the same.",
    )
    fetch_max_wait_ms = Option(
        "fetch.max.wait.ms", 500, at_least(0), importance="low", about="How long a broker waits for fetch.min.bytes."
    )
    fetch_min_bytes = Option(
        "fetch.min.bytes", 1, at_least(0), unit="bytes", importance="high",
        about="A broker answers a fetch when it has at least this much.",
    )
    group_id = Option[str | None](
        "group.id", None, importance="high", about="The consumer group; needed for subscribe and for commits."
    )
    group_instance_id = Option[str | None](
        "group.instance.id", None,
        about="Makes the consumer a static member: it may come back within its session without a rebalance (KIP-345).",
    )
    heartbeat_interval_ms = Option(
        "heartbeat.interval.ms", 3_000, importance="high",
        about="Time between two heartbeats to the group's coordinator.",
    )
    interceptor_classes = Option[list[Any]](
        "interceptor.classes", [], importance="low",
        about="Classes that see records before the application, and offsets once they are committed.",
    )
    isolation_level = Option(
        "isolation.level", "read_uncommitted", one_of(READ_COMMITTED, "read_uncommitted"),
        about="read_committed: records of transactions only once these are committed.",
    )
    key_deserializer = Option[Any](
        "key.deserializer", None, kind=Kind.CLASS, importance="high",
        about="Makes an object of a key's bytes; unset: bytes as they are.",
    )
    max_partition_fetch_bytes = Option(
        "max.partition.fetch.bytes", 1_048_576, at_least(0), unit="bytes", importance="high",
        about="Most that one partition may contribute to a fetch response.",
    )
    max_poll_interval_ms = Option(
        "max.poll.interval.ms", 300_000, at_least(1),
        about="A member that does not call poll for this long leaves its group.",
    )
    max_poll_records = Option("max.poll.records", 500, at_least(1), about="Most records that one poll returns.")
    partition_assignment_strategy = Option[list[Any]](
        "partition.assignment.strategy", ["org.apache.kafka.clients.consumer.RangeAssignor"],
        about="Assignors that this member can use, the preferred one first.",
    )
    session_timeout_ms = Option(
        "session.timeout.ms", 10_000, importance="high",
        about="A member that the coordinator has not heard from for this long is removed.",
    )
    value_deserializer = Option[Any](
        "value.deserializer", None, kind=Kind.CLASS, importance="high",
        about="Makes an object of a value's bytes; unset: bytes as they are.",
    )

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
