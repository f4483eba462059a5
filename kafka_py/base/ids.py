"""Small frozen values that name things: partitions, topic ids, brokers' own topics, kinds of elections.

Source: docs/reference/protocol.md, section 3 (uuids as text); docs/reference/groups.md, section 1 (own topics).
"""

import base64
import re
import uuid
from enum import IntEnum
from typing import NamedTuple

TopicId = uuid.UUID

_UUID_TEXT = re.compile(r"[A-Za-z0-9_-]{22}")

ZERO_UUID = uuid.UUID(int=0)
"""Stands for "no topic id" on the wire and in znodes."""

GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset((GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))
"""The topics that brokers keep for themselves."""

NO_LEADER = -1
"""In place of a leader's broker id: the partition has none."""
LEADER_DURING_DELETE = -2
"""Sent as the leader of a partition that is being deleted; brokers then forget the partition."""
EPOCH_DURING_DELETE = -2
"""The leader epoch in StopReplica for a topic in deletion: stops the replica whatever its leader epoch is (KIP-570)."""

CONSUMER_REPLICA_ID = -1
"""The replica id in a Fetch, ListOffsets or OffsetForLeaderEpoch request of a client."""
DEBUGGING_REPLICA_ID = -2
"""The replica id of a debugging consumer, which may read from any replica, up to the log end offset."""

EARLIEST_TIMESTAMP, LATEST_TIMESTAMP = -2, -1
"""In place of a time when offsets are asked for: the first record there is, the record to come next (KIP-79)."""


class TopicPartition(NamedTuple):
    """One partition of a topic; prints as it is written in logs and directory names, `topic-partition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class ElectionType(IntEnum):
    """Which replica an administrator wants to lead (KIP-460); the number travels in ElectLeaders."""

    PREFERRED = 0
    UNCLEAN = 1


def uuid_to_text(value: uuid.UUID) -> str:
    """The 22 characters by which znodes, files and tools name a uuid: base64url of its 16 bytes, no padding."""
    return base64.urlsafe_b64encode(value.bytes)[:22].decode("ascii")


def uuid_from_text(text: str) -> uuid.UUID:
    """The inverse of `uuid_to_text`. Raises ValueError for anything but 16 bytes of base64url."""
    if not _UUID_TEXT.fullmatch(text):
        raise ValueError(f"not the base64url text of a uuid (22 characters): {text!r}")
    return uuid.UUID(bytes=base64.urlsafe_b64decode(text + "=="))


_INT32_DIGITS = 10


def parse_broker_id(text: str) -> int | None:
    """The broker id that a client wrote; None for what is no number of ASCII digits, or one that no int32 holds."""
    if not (text.isascii() and text.isdigit()) or len(text.lstrip("0")) > _INT32_DIGITS:
        return None
    broker_id = int(text.lstrip("0") or "0")
    return broker_id if broker_id < 1 << 31 else None
