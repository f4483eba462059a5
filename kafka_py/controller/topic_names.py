"""Valid topic names, and collisions of names in metrics.

Pure. Source: docs/reference/controller.md, section 14.
"""

import re
from collections.abc import Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.internal_topics import INTERNAL_TOPICS

MAX_LENGTH = 249

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def fault_of(name: str) -> str | None:
    """Why `name` is not a valid topic name; None if it is valid."""
    if not name:
        return "A topic name cannot be empty."
    if name in (".", ".."):
        return f'A topic cannot be called "{name}".'
    if len(name) > MAX_LENGTH:
        return f"A topic name has at most {MAX_LENGTH} characters, this one has {len(name)}: {name}"
    if not _LEGAL.fullmatch(name):
        return f'Topic name "{name}" is illegal: only ASCII letters and digits, ".", "_" and "-" are allowed.'
    return None


def validate(name: str) -> None:
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION) if `name` is not a valid topic name."""
    fault = fault_of(name)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)


def can_exist(name: str) -> bool:
    """Whether a znode can have the name; less strict than `validate`, for topics that were created in ZooKeeper."""
    return bool(name) and name not in (".", "..") and "/" not in name and name.isprintable()


def has_collision_chars(name: str) -> bool:
    """Whether the name contains "." or "_", which are the same character in metric names."""
    return "." in name or "_" in name


def in_metrics(name: str) -> str:
    """The topic's name in metric names."""
    return name.replace(".", "_")


def collide(one: str, other: str) -> bool:
    """Whether the metrics of two topics would have the same name."""
    return in_metrics(one) == in_metrics(other)


def colliding(name: str, existing: Iterable[str]) -> list[str]:
    """The existing topics whose metrics `name` would share, in name order; a name without "." and "_" never does."""
    if not has_collision_chars(name):
        return []
    return sorted(other for other in existing if collide(name, other))


def is_internal(name: str) -> bool:
    """Whether the topic is an internal one."""
    return name in INTERNAL_TOPICS
