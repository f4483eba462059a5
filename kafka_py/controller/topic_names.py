"""Valid topic names, and collisions of names in metrics.

Pure. Source: docs/reference/controller.md, section 14.
"""

import re
from collections.abc import Generator, Iterable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import INTERNAL_TOPICS

MAX_LENGTH = 249

STEP_NAMES = 1000
"""A step takes some 0.2 ms."""

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


def by_name_in_metrics(names: Iterable[str]) -> Generator[None, None, dict[str, list[str]]]:
    """The names that others may collide with, by their names in metrics. Yields after every few (base/turns.py)."""
    found: dict[str, list[str]] = {}
    for number, name in enumerate(names):
        if not number % STEP_NAMES:
            yield
        if has_collision_chars(name):
            found.setdefault(in_metrics(name), []).append(name)
    return found


def is_internal(name: str) -> bool:
    """Whether the topic is an internal one."""
    return name in INTERNAL_TOPICS
