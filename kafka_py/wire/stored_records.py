"""Keys and values that brokers store in their own topics, read as declared messages: of any version, from any make.

For whoever shows such records; coordinators have readers of their own, because they read very many.
Source: docs/reference/tools.md, section 18; docs/reference/messages.tsv (OffsetCommitKey, GroupMetadataKey,
TransactionLogKey and their values).

Layout: int16 version, then the message of that version.
"""

from __future__ import annotations

from typing import TypeVar

from kafka_py.base.errors import KafkaError
from kafka_py.wire.compiler import decode_versioned, read_version
from kafka_py.wire.primitives import MalformedMessage

T = TypeVar("T")

GROUP_KEY_VERSION = 2
"""Keys of lower versions in __consumer_offsets are those of commits."""

TRANSACTION_STATES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
    "PrepareEpochFence",
)  # fmt: skip
"""By their codes in records."""


class UndecodableRecord(Exception):
    """A record that is not what the decoder is for."""


def version_of(data: bytes) -> int:
    """The version in front of a key or value. Raises UndecodableRecord."""
    try:
        return read_version(data)
    except MalformedMessage as error:
        raise UndecodableRecord(str(error)) from error


def decoded(cls: type[T], data: bytes, *, newest_known: bool = False) -> T:
    """The message behind its version. Raises UndecodableRecord."""
    try:
        return decode_versioned(cls, data, newest_known=newest_known)[1]
    except (MalformedMessage, KafkaError) as error:
        raise UndecodableRecord(f"no {cls.__name__}: {error}") from error
