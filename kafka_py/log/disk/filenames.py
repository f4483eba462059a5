"""The names of all files and directories in a log directory: formatting and parsing.

Pure text; opens nothing. Source: docs/reference/log.md, section 1.
"""

from __future__ import annotations

import uuid
from functools import lru_cache
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
INDEX_SUFFIXES = (OFFSET_INDEX, TIME_INDEX, TXN_INDEX)
SEGMENT_SUFFIXES = (LOG, *INDEX_SUFFIXES)

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"
TEMPORARY = ".tmp"

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
OFFSET_CHECKPOINTS = (
    HIGH_WATERMARK_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_CHECKPOINT,
    CLEANER_CHECKPOINT,
)
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"
OF_THE_FILE_SYSTEM = "lost+found"
"""In the root of ext4, which a mounted volume has; Apache Kafka does not start there."""

_DELETE = "-delete"
_FUTURE = "-future"

LONGEST_NAME = 255
"""Bytes that a file system permits in a name."""


def segment_file(base_offset: int, suffix: str) -> str:
    """`00000000000000000133.log`: the base offset in 20 digits, then the suffix."""
    return f"{base_offset:020d}{suffix}"


class SegmentFileName(NamedTuple):
    """A parsed name. `state` is "" for a file in use, or .deleted, .cleaned or .swap."""

    base_offset: int
    suffix: str
    state: str


@lru_cache(maxsize=1024)  # each name is parsed several times at start-up, and new logs have the same file names
def parse_segment_file(name: str) -> SegmentFileName | None:
    """The parts of a segment's file name; None for any other file."""
    state = next((mark for mark in (DELETED, CLEANED, SWAP) if name.endswith(mark)), "")
    digits, dot, kind = name.removesuffix(state).partition(".")
    suffix = dot + kind
    if not digits.isascii() or not digits.isdigit() or suffix not in (*SEGMENT_SUFFIXES, SNAPSHOT):
        return None
    return SegmentFileName(int(digits), suffix, state)


class PartitionName(NamedTuple):
    """A parsed directory name. At most one of `is_delete` and `is_future` holds."""

    topic_partition: TopicPartition
    is_delete: bool = False
    is_future: bool = False


def partition_directory(tp: TopicPartition) -> str:
    """The directory of a partition's log."""
    return f"{tp.topic}-{tp.partition}"


def can_have_directory(tp: TopicPartition) -> bool:
    """Whether the partition can have a log directory whose name parses back to the same partition.

    True for legal topic names; a name that was written to ZooKeeper by hand may be illegal.
    """
    name = partition_directory(tp)
    return (
        tp.partition >= 0
        and bool(tp.topic)
        and tp.topic not in (".", "..")
        and "/" not in name
        and name.isprintable()
        and len(name.encode(errors="replace")) <= LONGEST_NAME
    )


def delete_directory(tp: TopicPartition, unique: uuid.UUID) -> str:
    """The name of a directory that is to be removed; the topic is truncated so that the name is not too long."""
    tail = f"-{tp.partition}.{unique.hex}{_DELETE}"
    return tp.topic[: LONGEST_NAME - len(tail)] + tail


def future_directory(tp: TopicPartition, unique: uuid.UUID) -> str:
    """The directory of a future replica, which is being moved from another log directory."""
    return f"{tp.topic}-{tp.partition}.{unique.hex}{_FUTURE}"


def parse_partition_directory(name: str) -> PartitionName:
    """The partition that a directory belongs to. Raises ValueError for a name that no broker creates."""
    is_delete, is_future = name.endswith(_DELETE), name.endswith(_FUTURE)
    plain = name
    if is_delete or is_future:
        plain, dot, unique = name[: -len(_DELETE)].rpartition(".")
        if not dot or len(unique) != 32 or not all(digit in "0123456789abcdef" for digit in unique):
            raise ValueError(f"directory {name!r} is not of the form topic-partition.uniqueId-delete (or -future)")
    topic, dash, digits = plain.rpartition("-")
    if not dash or not topic or not digits.isascii() or not digits.isdigit():
        raise ValueError(f"directory {name!r} is not of the form topic-partition; is this a log directory?")
    return PartitionName(TopicPartition(topic, int(digits)), is_delete, is_future)
