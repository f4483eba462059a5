"""Which of a producer's batch headers are trusted without reading the records.

A header contains the largest timestamp and the number of records. Reading every record of every batch would cost more
than the append itself, so the first batches of each connection are verified in full, and later ones at random; after a
wrong header all later batches are verified. `is_plausible` selects the headers that are always verified.
Source: docs/architecture.md, "What a batch header may claim".
"""

from __future__ import annotations

from kafka_py.base.chance import Random
from kafka_py.records.batch import CODEC_MASK, BatchHeader

CLOCK_SLACK_MS = 3_600_000
"""How far ahead of the broker's clock a header's largest timestamp may be without verification (ms)."""

VERIFIED_FIRST = 4
"""Batches of a new connection that are verified in full; of large batches only the first."""
_RECORDS_PER_FIRST = 250

_ALWAYS = 0.01
_SHARE = 1 / 300
"""Average number of records that an append may read for verification, and the share of its own records."""
_DECOMPRESSION = 20
_BYTES_PER_RECORD = 64
"""Cost of decompression in records: per batch, and per this many compressed bytes."""


def is_plausible(header: BatchHeader, now_ms: int) -> bool:
    """Whether the largest timestamp can be right, judged by the header and the clock.

    It is at least the base timestamp, which is the first record's, and not far ahead of the clock; a batch without
    timestamps is not plausible. now_ms: wall clock.
    """
    max_timestamp = header[8]
    return 0 <= max_timestamp >= header[7] and max_timestamp - now_ms <= CLOCK_SLACK_MS


class HeaderTrust:
    """The trust in one connection. client: its name for the log. wrong: number of its batches with a wrong header."""

    __slots__ = ("_chance", "_first_left", "_left", "client", "wrong")

    def __init__(self, client: str, rng: Random) -> None:
        self.client = client
        self.wrong = 0
        self._chance = rng.expovariate
        self._left = 0.0  # budget that the next batches use up before a verification is due; 0 while all are verified
        self._first_left = VERIFIED_FIRST * _RECORDS_PER_FIRST

    def wants_verification(self, header: BatchHeader) -> bool:
        """Whether to verify this batch although its header is plausible."""
        weight: float = header[12]
        if header[5] & CODEC_MASK:
            weight += _DECOMPRESSION + header[1] / _BYTES_PER_RECORD
        # Verifications are a Poisson process: each batch reduces the drawn budget by its probability of a verification.
        left = self._left - (_ALWAYS / weight + _SHARE)
        if left > 0.0 and not self.wrong:  # another thread may increase `wrong` at any time
            self._left = left
            return False
        if self._first_left > 0:
            self._first_left -= max(header[12], _RECORDS_PER_FIRST)
        if self._first_left <= 0 and not self.wrong:
            self._left = self._chance(1.0)
        return True
