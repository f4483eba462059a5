"""Chance, which is handed in and never reached for, so that a test or a simulation can repeat it."""

from __future__ import annotations

import random
import uuid

from kafka_py.base.ids import TopicId, uuid_to_text

Random = random.Random
"""A generator that one part draws from; `Chance.generator` makes it."""


class Chance:
    """Where a process gets everything from that must not be foreseen: generators, random numbers and new uuids.

    seed: repeats all of it; without one the system's entropy is drawn from, so that ids cannot be guessed.
    """

    __slots__ = ("_source",)

    def __init__(self, seed: int | None = None) -> None:
        self._source = random.SystemRandom() if seed is None else random.Random(seed)

    def generator(self) -> Random:
        """A fast generator for one owner: what others draw does not change what it gives."""
        return random.Random(self._source.getrandbits(64))

    def number(self, least: int, greatest: int) -> int:
        """From `least` to `greatest`, both inclusive."""
        return self._source.randint(least, greatest)

    def new_uuid(self) -> uuid.UUID:
        """A version 4 uuid."""
        return uuid.UUID(int=self._source.getrandbits(128), version=4)

    def new_topic_id(self) -> TopicId:
        """A version 4 uuid whose text does not begin with a dash: it is never taken for a command line option."""
        while True:
            candidate = self.new_uuid()
            if not uuid_to_text(candidate).startswith("-"):
                return candidate
