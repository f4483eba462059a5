"""Offsets of many partitions as one value, and as the JSON that Spark keeps in checkpoints.

The shape is that of Spark's own Kafka connector: {"topicA":{"0":23,"1":-2}}; -2 stands for the earliest offset and
-1 for the latest. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kafka_py.base.ids import TopicPartition

Offsets = dict[TopicPartition, int]


def from_nested(nested: Mapping[str, Mapping[str, int]]) -> Offsets:
    """Offsets from their JSON shape. Raises ValueError when it has another one."""
    try:
        return {
            TopicPartition(topic, int(number)): int(offset)
            for topic, numbers in nested.items()
            for number, offset in numbers.items()
        }
    except (AttributeError, TypeError) as error:
        raise ValueError(f"offsets have the shape {{topic: {{partition: offset}}}}, not {nested!r}") from error


def to_nested(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """The JSON shape, sorted, so that equal offsets are equal text."""
    nested: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(number)] = offset
    return nested


def to_json(offsets: Mapping[TopicPartition, int]) -> str:
    return json.dumps(to_nested(offsets), separators=(",", ":"))


def from_json(text: str) -> Offsets:
    return from_nested(json.loads(text))


def names(partitions: Iterable[TopicPartition]) -> str:
    """Partitions for a message."""
    return ", ".join(str(each) for each in sorted(partitions))


def limited(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], most: int) -> Offsets:
    """Ends that let at most about `most` offsets through, each partition its share of what it has.

    A partition with anything gets at least one, so that none starves; the sum may exceed `most` by that much.
    """
    sizes = {each: max(0, end[each] - start.get(each, 0)) for each in end}
    total = sum(sizes.values())
    if total <= most:
        return dict(end)
    ends: Offsets = {}
    for each, size in sizes.items():
        share = max(1, most * size // total)
        ends[each] = start.get(each, 0) + min(size, share) if size else end[each]
    return ends
