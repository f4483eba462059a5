"""The iteration order of Scala's mutable hash tables, which DescribeConfigs and several tools have.

Source: HashMap and HashSet of Scala 2.13; String.hashCode of the JDK.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kafka_py.base.ids import TopicPartition
from kafka_py.records.java_hash import java_hash_code

FIRST_SIZE = 16
LOAD_FACTOR = 0.75

_MASK = 0xFFFFFFFF

K = TypeVar("K")


def of_strings(keys: Iterable[str]) -> list[str]:
    """Keys in the iteration order of a hash table."""
    listed = list(keys)
    return _ordered(listed, [java_hash_code(key) for key in listed])


def of_partitions(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Partitions in the iteration order of a hash set."""
    listed = list(partitions)
    return _ordered(listed, [31 * (31 + each.partition) + java_hash_code(each.topic) for each in listed])


def _ordered(keys: Sequence[K], hashes: Sequence[int]) -> list[K]:
    size = FIRST_SIZE
    while len(keys) >= size * LOAD_FACTOR:
        size *= 2
    improved = [_improved(code) for code in hashes]
    order = sorted(range(len(keys)), key=lambda number: (improved[number] & (size - 1), improved[number]))
    return [keys[number] for number in order]


def _improved(code: int) -> int:
    """The hash with its high bits folded into the low ones, as a signed 32-bit number."""
    code &= _MASK
    code ^= code >> 16
    return code - (1 << 32) if code & 0x80000000 else code
