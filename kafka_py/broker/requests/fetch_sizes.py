"""The size of a Fetch response by what it returns, before it is built: a quota of bytes decides whether it is sent.

A test compares it with encoded responses. Source: docs/reference/quotas.md, section 5; docs/reference/messages.tsv.
"""

from __future__ import annotations

from kafka_py.replication.state.reads import FetchResults, PartitionRead

_SIZE_PREFIX = 4
_FIRST_FLEXIBLE = 12


def fetch_response_bytes(version: int, results: FetchResults) -> int:
    """Size prefix and body, without the header. results: the partitions that it would have, topic by topic."""
    head = _SIZE_PREFIX + 4 * (version >= 1) + 6 * (version >= 7)
    topics: dict[str, int] = {}
    rows = 0
    for entry, read in results:
        topic = entry.topic_partition.topic
        topics[topic] = topics.get(topic, 0) + 1
        rows += _partition_bytes(version, read)
    if version < _FIRST_FLEXIBLE:
        return head + 4 + rows + sum(2 + len(topic.encode()) + 4 for topic in topics)
    names = sum(_compact(len(topic.encode())) + _varint(count + 1) + 1 for topic, count in topics.items())
    return head + _varint(len(topics) + 1) + rows + names + 1


def _partition_bytes(version: int, read: PartitionRead) -> int:
    size = 4 + 2 + 8 + 8 * (version >= 4) + 8 * (version >= 5) + 4 * (version >= 11)
    aborted = None if read.aborted is None else len(read.aborted)
    if version < _FIRST_FLEXIBLE:
        return size + (4 + 16 * (aborted or 0) if version >= 4 else 0) + 4 + read.size
    size += 1 if aborted is None else _varint(aborted + 1) + 17 * aborted
    diverging = 0 if read.diverging is None else 2 + 4 + 8 + 1
    return size + _compact(read.size) + 1 + diverging


def _compact(size: int) -> int:
    """Bytes with their length before them, as flexible versions have them."""
    return _varint(size + 1) + size


def _varint(value: int) -> int:
    return max((value.bit_length() + 6) // 7, 1)
