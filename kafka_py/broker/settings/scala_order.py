"""The order in which Scala's mutable hash tables list their entries: DescribeConfigs and several tools have it.

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
    """Keys as a hash table lists them."""
    listed = list(keys)
    return _ordered(listed, [java_hash_code(key) for key in listed])


def of_partitions(partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Partitions as a hash set lists them."""
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
    """The high bits folded into the low ones, as a signed number of 32 bits."""
    code &= _MASK
    code ^= code >> 16
    return code - (1 << 32) if code & 0x80000000 else code
