"""How far a producer's batch headers are believed without a look at the records.

A header announces the largest timestamp and the number of records. Walking over every record of every batch would
cost more than the append itself, so each connection has its first batches verified in full, and later ones at random;
one wrong header and all that follow are verified. What no header may claim unseen is decided in `is_plausible`.
Source: docs/architecture.md, "What a batch header may claim".
"""

from __future__ import annotations

from kafka_py.base.chance import Random
from kafka_py.records.batch import CODEC_MASK, BatchHeader

CLOCK_SLACK_MS = 3_600_000
"""How far ahead of the broker's clock a header's largest timestamp may be without a look at the records."""

VERIFIED_FIRST = 4
"""Batches of a new connection that are verified in full; of large ones the first alone."""
_RECORDS_PER_FIRST = 250

_ALWAYS = 0.01
_SHARE = 1 / 300
"""Beside its own cost, an append may cause on average the walk over so many records, and this share of its own."""
_DECOMPRESSION = 20
_BYTES_PER_RECORD = 64
"""What decompression costs, in records walked over: for each batch, and for each so many compressed bytes."""


def is_plausible(header: BatchHeader, now_ms: int) -> bool:
    """Whether the largest timestamp can be right, as far as the header and the clock tell.

    It is at least the base timestamp, which is the first record's, and not far ahead of the clock; a batch without
    timestamps is looked at as well. now_ms: the wall clock.
    """
    max_timestamp = header[8]
    return 0 <= max_timestamp >= header[7] and max_timestamp - now_ms <= CLOCK_SLACK_MS


class HeaderTrust:
    """Of one connection. client: who that is, for the log. wrong: how many of its batches had a wrong header."""

    __slots__ = ("_chance", "_first_left", "_left", "client", "wrong")

    def __init__(self, client: str, rng: Random) -> None:
        self.client = client
        self.wrong = 0
        self._chance = rng.expovariate
        self._left = 0.0  # what the next batches use up before one is due; 0 while each is
        self._first_left = VERIFIED_FIRST * _RECORDS_PER_FIRST

    def wants_look(self, header: BatchHeader) -> bool:
        """Whether the records of this batch are to be walked over though the header is plausible."""
        weight: float = header[12]
        if header[5] & CODEC_MASK:
            weight += _DECOMPRESSION + header[1] / _BYTES_PER_RECORD
        # Looks are a Poisson process: batches use up what was drawn, each as much as its chance of a look.
        left = self._left - (_ALWAYS / weight + _SHARE)
        if left > 0.0 and not self.wrong:  # which may rise in another thread, also between these lines
            self._left = left
            return False
        if self._first_left > 0:
            self._first_left -= max(header[12], _RECORDS_PER_FIRST)
        if self._first_left <= 0 and not self.wrong:
            self._left = self._chance(1.0)
        return True
