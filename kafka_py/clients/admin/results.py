"""What admin calls give back: one value or error per item asked about, and what a caller may do with an item."""

from __future__ import annotations

from typing import TypeVar

from kafka_py.base.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")


class Results(dict[K, V | KafkaError]):
    """Item -> its value, or the KafkaError it met. `all` and `value` raise instead."""

    def value(self, key: K) -> V:
        """The item's value. Raises its KafkaError."""
        found = self[key]
        if isinstance(found, KafkaError):
            raise found
        return found

    def all(self) -> dict[K, V]:
        """All values. Raises the first error."""
        return {key: self.value(key) for key in self}

    def errors(self) -> dict[K, KafkaError]:
        """The items that failed."""
        return {key: found for key, found in self.items() if isinstance(found, KafkaError)}


NOT_ASKED_FOR = -0x80000000


def operations_of(bits: int) -> int | None:
    """The operations that the caller is authorized for (KIP-430), as bits; None when they were not asked for."""
    return None if bits == NOT_ASKED_FOR else bits
