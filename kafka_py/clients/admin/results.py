"""The results of admin calls: one value or error per item, and the authorized operations of an item."""

from __future__ import annotations

from typing import TypeVar

from kafka_py.base.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")


class Results(dict[K, V | KafkaError]):
    """Item -> its value, or its KafkaError, which `all` and `value` raise."""

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
    """The operations for which the caller is authorized (KIP-430), as bits; None if they were not requested."""
    return None if bits == NOT_ASKED_FOR else bits
