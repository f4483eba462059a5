"""The size of a Fetch response by what it returns, before it is built: a quota of bytes decides whether it is sent.

A test compares it with encoded responses. Source: docs/reference/quotas.md, section 5; docs/reference/messages.tsv.
"""

from __future__ import annotations

from collections.abc import Generator

from kafka_py.base.steps import to_end
from kafka_py.replication.state.reads import FetchResults, PartitionRead

_SIZE_PREFIX = 4
_FIRST_FLEXIBLE = 12
_FIRST_WITH_ABORTED = 4
_STEP = 256
_HEADS = tuple(_SIZE_PREFIX + 4 * (version >= 1) + 6 * (version >= 7) for version in range(16))
"""By version: the size prefix and what comes before the topics."""
_ROWS = tuple(4 + 2 + 8 + 8 * (version >= 4) + 8 * (version >= 5) + 4 * (version >= 11) for version in range(16))
"""By version: what a partition has but for its records and what may be absent."""
_COUNTS = tuple(4 + 2 + 4 + 4 * (version >= _FIRST_WITH_ABORTED) + 4 for version in range(_FIRST_FLEXIBLE))
"""By version: the lengths of topics, name, partitions, aborted transactions and records of one partition."""


def fetch_response_bytes(version: int, results: FetchResults, *, returns_all: bool = True) -> int:
    """Size prefix and body, without the header. results: what was read, topic by topic; see `sizing`."""
    if len(results) == 1 and version < _FIRST_FLEXIBLE:  # the most frequent case, without a generator
        [(entry, read)] = results
        if returns_all or read.size:
            size = _HEADS[version] + _ROWS[version] + _COUNTS[version] + read.size
            topic = entry.topic_partition.topic
            size += len(topic) if topic.isascii() else len(topic.encode())
            return size + 16 * len(read.aborted) if read.aborted and version >= _FIRST_WITH_ABORTED else size
    return to_end(sizing(version, results, returns_all=returns_all))


def sizing(version: int, results: FetchResults, *, returns_all: bool) -> Generator[None, None, int]:
    """As fetch_response_bytes, in steps (base/turns.py). returns_all: else only those with records."""
    is_flexible = version >= _FIRST_FLEXIBLE
    size = _HEADS[version]
    topics: dict[str, int] = {}
    for number, (entry, read) in enumerate(results, 1):
        if returns_all or read.size:
            topic = entry.topic_partition.topic
            topics[topic] = topics.get(topic, 0) + 1
            size += _partition_bytes(version, read)
        if number % _STEP == 0:
            yield
    for number, (topic, count) in enumerate(topics.items(), 1):
        name = len(topic.encode())
        size += _compact(name) + _varint(count + 1) + 1 if is_flexible else 2 + name + 4
        if number % _STEP == 0:
            yield
    return size + (_varint(len(topics) + 1) + 1 if is_flexible else 4)


def _partition_bytes(version: int, read: PartitionRead) -> int:
    size = _ROWS[version]
    aborted = None if read.aborted is None else len(read.aborted)
    if version < _FIRST_FLEXIBLE:
        return size + (4 + 16 * (aborted or 0) if version >= _FIRST_WITH_ABORTED else 0) + 4 + read.size
    size += 1 if aborted is None else _varint(aborted + 1) + 17 * aborted
    diverging = 0 if read.diverging is None else 2 + 4 + 8 + 1
    return size + _compact(read.size) + 1 + diverging


def _compact(size: int) -> int:
    """Bytes with their length before them, as flexible versions have them."""
    return _varint(size + 1) + size


def _varint(value: int) -> int:
    return max((value.bit_length() + 6) // 7, 1)
