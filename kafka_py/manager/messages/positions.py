"""Where in each partition messages are read: from what a form says to ranges of offsets.

Pure: the ends of partitions and the offsets at a time are looked up by browsing.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

MOST_PLACES = 10_000
LATEST_MOMENT_MS = 253_402_300_799_999
"""The end of the year 9999, after which no calendar here reaches."""


class InvalidPosition(ValueError):
    """A start that cannot be understood."""


class StartKind(StrEnum):
    """EARLIEST, OFFSET, TIME and PLACES read forward; LATEST and BEFORE read the last messages, backward."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"
    TIME = "time"
    PLACES = "places"
    BEFORE = "before"


class BrowseStart(NamedTuple):
    """Where to start.

    offset: of OFFSET, in every partition. timestamp: of TIME, ms UTC.
    places: of PLACES, offsets to read from; of BEFORE, to read up to (exclusive); by partition.
    """

    kind: StartKind = StartKind.LATEST
    offset: int = 0
    timestamp: int = 0
    places: Mapping[int, int] = {}

    @property
    def is_backward(self) -> bool:
        return self.kind in (StartKind.LATEST, StartKind.BEFORE)


class OffsetSpan(NamedTuple):
    """Offsets of one partition: from `start` to before `end`."""

    start: int
    end: int

    def clipped(self, start: int, end: int) -> OffsetSpan:
        """The part of these offsets from `start` to before `end`; empty where there is none."""
        low = min(max(self.start, start), self.end)
        return OffsetSpan(low, max(low, min(self.end, end)))


def spans_of(
    start: BrowseStart, logs: Mapping[int, OffsetSpan], at_time: Mapping[int, int | None]
) -> dict[int, OffsetSpan]:
    """What may be read of each partition. logs: what they hold. at_time: of TIME; None without a record so late."""
    return {number: _span(start, number, log, at_time.get(number)) for number, log in sorted(logs.items())}


def _span(start: BrowseStart, number: int, log: OffsetSpan, at_time: int | None) -> OffsetSpan:
    match start.kind:
        case StartKind.EARLIEST | StartKind.LATEST:
            return log
        case StartKind.OFFSET:
            return log.clipped(start.offset, log.end)
        case StartKind.TIME:
            return log.clipped(log.end if at_time is None else at_time, log.end)
        case StartKind.PLACES:
            return log.clipped(start.places.get(number, log.end), log.end)
        case StartKind.BEFORE:
            return log.clipped(log.start, start.places.get(number, log.start))


def parse_start(kind: str, at: str) -> BrowseStart:
    """From the form: `at` is an offset, a time or places; empty for the ends. Raises InvalidPosition."""
    try:
        start = StartKind(kind)
    except ValueError:
        raise InvalidPosition(f"there is no start {kind!r}; it is one of {', '.join(StartKind)}") from None
    match start:
        case StartKind.OFFSET:
            return BrowseStart(start, offset=_number(at, "an offset"))
        case StartKind.TIME:
            return BrowseStart(start, timestamp=parse_moment(at))
        case StartKind.PLACES | StartKind.BEFORE:
            return BrowseStart(start, places=parse_places(at))
    return BrowseStart(start)


def _number(text: str, what: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 19:
        raise InvalidPosition(f"{what} is a number, not {text[:40]!r}")
    return int(text)


def parse_moment(text: str) -> int:
    """A moment as ms UTC: in ISO 8601 (UTC without a zone), or as ms since the epoch. Raises InvalidPosition."""
    text = text.strip()
    if text.isascii() and text.isdecimal() and 9 < len(text) < 16 and int(text) <= LATEST_MOMENT_MS:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        timestamp = int(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        timestamp = -1
    if not 0 <= timestamp <= LATEST_MOMENT_MS:  # negative timestamps stand for the ends of a log
        raise InvalidPosition(f"{text[:40]!r} is no moment such as 2026-01-31T12:00:00Z")
    return timestamp


def parse_places(text: str) -> dict[int, int]:
    """`0:120,3:7`: offsets by partition. Raises InvalidPosition."""
    places = {}
    parts = [part for part in text.split(",") if part.strip()]
    if len(parts) > MOST_PLACES:
        raise InvalidPosition(f"at most {MOST_PLACES} partitions have places")
    for part in parts:
        number, _, offset = part.partition(":")
        places[_number(number, "a partition")] = _number(offset, "an offset")
    return places


def places_text(places: Mapping[int, int]) -> str:
    """The text that parse_places reads."""
    return ",".join(f"{number}:{offset}" for number, offset in sorted(places.items()))


def parse_partitions(text: str) -> tuple[int, ...]:
    """`0,3,5-7`: numbers of partitions, in order; nothing stands for all. Raises InvalidPosition."""
    numbers: set[int] = set()
    for part in text.split(","):
        if not part.strip():
            continue
        first, dash, last = part.partition("-")
        low = _number(first, "a partition")
        high = _number(last, "a partition") if dash else low
        if high - low > MOST_PLACES:
            raise InvalidPosition(f"at most {MOST_PLACES} partitions are named")
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))


def chosen(logs: Mapping[int, OffsetSpan], numbers: Iterable[int]) -> dict[int, OffsetSpan]:
    """The partitions that are named, or all when none is. Raises InvalidPosition for one that does not exist."""
    wanted = list(numbers) or list(logs)
    missing = [str(number) for number in wanted if number not in logs]
    if missing:
        raise InvalidPosition(f"there is no partition {', '.join(missing[:10])}")
    return {number: logs[number] for number in wanted}
