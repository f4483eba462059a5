"""Moments and durations as Apache Kafka's tools take them on the command line.

Source: docs/reference/tools.md, section 4 (--to-datetime, --by-duration); Duration of the JDK (text forms).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

_MOMENT = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})T(\d{1,2}):(\d{1,2}):(\d{1,2})\.(\d{1,3})(?:(Z)|([+-])(\d{2})(?::?(\d{2}))?)?",
    re.ASCII,
)

_DURATION = re.compile(
    r"([+-]?)P(?:([+-]?\d+)D)?(T(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)


def moment_ms(text: str) -> int:
    """`YYYY-MM-DDTHH:mm:SS.sss`, with `Z`, `+hh`, `+hhmm` or `+hh:mm` behind or else in UTC, as ms since the epoch.

    Raises ValueError with Apache Kafka's words.
    """
    if "T" not in text:
        raise ValueError("Error parsing timestamp. It does not contain a 'T' according to ISO8601 format")
    clock = text.partition("T")[2]
    shown = text if any(sign in clock for sign in "+-Z") else f"{text}Z"
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f'Unparseable date: "{shown}"')
    *fields, millis = (int(part) for part in match.groups()[:7])
    _, sign, hours, minutes = match.groups()[7:]
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        year, month, day, hour, minute, second = fields
        zone = timezone(-offset if sign == "-" else offset)
        at = datetime(year, month, day, hour, minute, second, millis * 1000, tzinfo=zone)
        return (at - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise ValueError(f'Unparseable date: "{shown}"') from None


def duration_ms(text: str) -> int:
    """`PnDTnHnMnS` in ms: days of 24 hours, parts may be negative, seconds may have a fraction. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    if match is None or match[3] in ("T", "t") or not any(match[number] for number in (2, 4, 5, 6)):
        raise ValueError("Text cannot be parsed to a Duration")
    days, hours, minutes, seconds = (int(match[number] or 0) for number in (2, 4, 5, 6))
    fraction_ms = int((match[7] or "").ljust(3, "0")[:3])
    if (match[6] or "").startswith("-"):
        fraction_ms = -fraction_ms
    total_ms = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fraction_ms
    return -total_ms if match[1] == "-" else total_ms
