"""What a topic may be called, and which names get in each other's way.

Pure. Source: docs/reference/controller.md, section 14.
"""

import re
from collections.abc import Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.internal_topics import INTERNAL_TOPICS

MAX_LENGTH = 249

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def fault_of(name: str) -> str | None:
    """Why `name` cannot be a topic's, for people; None when it can."""
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
    """Raises KafkaError(INVALID_TOPIC_EXCEPTION) when `name` cannot be a topic's."""
    fault = fault_of(name)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)


def can_exist(name: str) -> bool:
    """Whether a znode can bear the name: looser than `validate`, for topics that somebody made by hand."""
    return bool(name) and name not in (".", "..") and "/" not in name and name.isprintable()


def has_collision_chars(name: str) -> bool:
    """Whether the name holds "." or "_", which are the same in metric names."""
    return "." in name or "_" in name


def in_metrics(name: str) -> str:
    """The name that a topic's metrics bear."""
    return name.replace(".", "_")


def collide(one: str, other: str) -> bool:
    """Whether the metrics of two topics would bear one name."""
    return in_metrics(one) == in_metrics(other)


def colliding(name: str, existing: Iterable[str]) -> list[str]:
    """The existing topics whose metrics `name` would share, in name order; a name without "." and "_" never does."""
    if not has_collision_chars(name):
        return []
    return sorted(other for other in existing if collide(name, other))


def is_internal(name: str) -> bool:
    """Whether the topic belongs to the brokers themselves."""
    return name in INTERNAL_TOPICS
