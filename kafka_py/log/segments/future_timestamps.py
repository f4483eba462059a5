"""Checks whether a record really has a largest timestamp that is far ahead of the clock, for retention.

Works on the bytes of one batch, and reads no file. Source: docs/architecture.md, "What a batch header may claim".
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_py.log.segments.time_index import TimeOffset
from kafka_py.log.validation.header_trust import CLOCK_SLACK_MS
from kafka_py.records.batch import MAGIC, OversizedBatch, TimestampType, read_header, records_payload
from kafka_py.records.survey import AT_ONCE, first_at_time

_log = logging.getLogger(__name__)

_VERIFIED_PLAIN_BYTES = 2 << 20
_VERIFIED_RECORDS = 4000
"""Most records of a batch that are read on the event loop to verify a timestamp."""


class _TooMany(Exception):
    """The batch has more records than may be read on the event loop."""


def _walk_of(records: int) -> Callable[[], None]:
    """Replaces a pause callback: ends the iteration after too many records by raising _TooMany."""
    pauses = iter(range(records // AT_ONCE))

    def pause() -> None:
        if next(pauses, None) is None:
            raise _TooMany

    return pause


def has_record_at(batch: bytes, largest: TimeOffset, now_ms: int, path: str) -> bool:
    """Whether a record of the batch has the largest timestamp in its header, or a later one.

    For a batch too large to be read on the event loop the base timestamp decides. now_ms: the wall clock.
    path: of the segment, for the log. Raises CorruptBatch, ValueError for a batch that cannot be read.
    """
    header = read_header(batch)
    if header.magic < MAGIC or header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return True
    try:
        plain = records_payload(batch, 0, header, _VERIFIED_PLAIN_BYTES)
        found = first_at_time(plain, header, largest.timestamp, 0, pause=_walk_of(_VERIFIED_RECORDS))
    except (OversizedBatch, _TooMany):
        return header.base_timestamp - now_ms > CLOCK_SLACK_MS
    if found is None:
        _log.warning(
            "%s: the header of the batch at offset %d has largest timestamp %d, which no record has",
            path, largest.offset, largest.timestamp,
        )  # fmt: skip
    return found is not None
