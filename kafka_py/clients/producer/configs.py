"""The settings of the producer, 70 of them with those that every client has.

Source: docs/reference/configs.tsv, scope producer. Defaults are those of 2.8 (acks 1, no idempotence).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Kind, Option, at_least, between, non_empty, one_of
from kafka_py.clients.configs import INT_MAX, ClientOptions

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
IDEMPOTENT_MAX_IN_FLIGHT = 5
"""A leader remembers the last five batches of a producer; with more in flight it might not recognise a duplicate."""


class ProducerOptions(ClientOptions):
    """Names, types and defaults; `acks_code` is the number in the request."""

    acks = Option(
        "acks", "1", one_of("all", "-1", "0", "1"), importance="high",
        about="Who has a record before it counts as sent: nobody (0), the leader (1), all in-sync replicas (all).",
    )
    batch_size = Option(
        "batch.size", 16_384, at_least(0), unit="bytes", about="A batch is closed when it has grown to this size."
    )
    buffer_memory = Option(
        "buffer.memory", 33_554_432, at_least(0), kind=Kind.LONG, unit="bytes", importance="high",
        about="Memory for records that were not sent yet; send() waits while it is full.",
    )
    compression_type = Option(
        "compression.type", "none", one_of(*CODECS), importance="high", about="The codec of the batches that are sent."
    )
    delivery_timeout_ms = Option(
        "delivery.timeout.ms", 120_000, at_least(0), about="From send() to success or failure, retries included."
    )
    enable_idempotence = Option(
        "enable.idempotence", False, importance="low",
        about="Whether retries write a record once only; implied by transactional.id.",
    )
    interceptor_classes = Option[list[Any]](
        "interceptor.classes", [], importance="low",
        about="Classes that see records before they are serialized, and their acknowledgement.",
    )
    key_serializer = Option[Any](
        "key.serializer", None, kind=Kind.CLASS, importance="high", about="Makes bytes of a key; unset: keys are bytes."
    )
    linger_ms = Option(
        "linger.ms", 0, at_least(0), kind=Kind.LONG, about="How long a batch that is not full waits for more."
    )
    max_block_ms = Option(
        "max.block.ms", 60_000, at_least(0), kind=Kind.LONG, about="How long send() may wait for metadata and memory."
    )
    max_in_flight = Option(
        "max.in.flight.requests.per.connection", 5, at_least(1), importance="low",
        about="Requests to one broker that may wait for a response; at most 5 with idempotence.",
    )
    max_request_size = Option(
        "max.request.size", 1_048_576, at_least(0), unit="bytes", about="Largest record, and largest request."
    )
    metadata_max_idle_ms = Option(
        "metadata.max.idle.ms",
        300_000,
        at_least(5_000),
        kind=Kind.LONG,
        importance="low",
        about="Metadata of a topic that was not produced to for this long is no longer requested.",
    )
    partitioner_class = Option[Any](
        "partitioner.class", "org.apache.kafka.clients.producer.internals.DefaultPartitioner", kind=Kind.CLASS,
        about="Chooses the partition of a record that names none: by the key, or batch by batch without one.",
    )
    receive_buffer_bytes = Option("receive.buffer.bytes", 32_768, at_least(-1), about="SO_RCVBUF; -1 leaves it.")
    retries = Option(
        "retries", INT_MAX, between(0, INT_MAX), importance="high",
        about="How often a batch that failed for a passing reason is sent again, within delivery.timeout.ms.",
    )
    transaction_timeout_ms = Option(
        "transaction.timeout.ms",
        60_000,
        importance="low",
        about="How long a transaction may be open before its coordinator aborts it and fences the producer.",
    )
    transactional_id = Option[str | None](
        "transactional.id",
        None,
        non_empty(),
        importance="low",
        about="Makes transactions possible, and fences older producers with the same id.",
    )
    value_serializer = Option[Any](
        "value.serializer", None, kind=Kind.CLASS, importance="high",
        about="Makes bytes of a value; unset: values are bytes.",
    )

    @classmethod
    def parse(cls, properties: Mapping[str, object] | None = None) -> Self:
        """As in every table of settings, but `acks` given as a number is refused: it has to be a string."""
        acks = (properties or {}).get("acks")
        if acks is not None and not isinstance(acks, str):
            raise ConfigError(
                f"Invalid value {acks} for configuration acks: it is a {type(acks).__name__}, and has to be a str"
            )
        return super().parse(properties)

    @property
    def acks_code(self) -> int:
        """The number of acks in a request: 0, 1 or -1 (all)."""
        return -1 if self.acks == "all" else int(self.acks)

    def validate(self) -> None:
        super().validate()
        self._settle_delivery_timeout()
        if self.transactional_id is not None:
            if "enable.idempotence" in self.originals and not self.enable_idempotence:
                raise ConfigError("transactional.id needs enable.idempotence, which is false")
            self.__dict__["enable_idempotence"] = True
        if self.enable_idempotence:
            self._validate_idempotence()

    def _settle_delivery_timeout(self) -> None:
        needed = min(self.linger_ms + self.request_timeout_ms, INT_MAX)
        if self.delivery_timeout_ms >= needed:
            return
        if "delivery.timeout.ms" in self.originals:
            raise ConfigError(
                f"Invalid value {self.delivery_timeout_ms} for configuration delivery.timeout.ms: "
                f"linger.ms and request.timeout.ms alone take {needed}"
            )
        self.__dict__["delivery_timeout_ms"] = needed

    @property
    def _idempotence_by(self) -> str:
        """The setting that asks for idempotence."""
        return "enable.idempotence" if self.transactional_id is None else "transactional.id (by enable.idempotence)"

    def _validate_idempotence(self) -> None:
        """Sets unset settings to what idempotence needs; raises ConfigError for set ones that contradict it."""
        if "retries" in self.originals and self.retries == 0:
            raise ConfigError(f"{self._idempotence_by} needs retries, which is 0")
        if self.max_in_flight > IDEMPOTENT_MAX_IN_FLIGHT:
            raise ConfigError(
                f"{self._idempotence_by} allows up to {IDEMPOTENT_MAX_IN_FLIGHT} "
                f"max.in.flight.requests.per.connection, not {self.max_in_flight}"
            )
        if "acks" not in self.originals:
            self.__dict__["acks"] = "all"
        elif self.acks_code != -1:
            raise ConfigError(f"{self._idempotence_by} needs acks=all, not {self.acks}")
