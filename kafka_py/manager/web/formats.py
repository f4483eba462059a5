"""Numbers, sizes and times as readers see them; the JSON interface has the plain values."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(count: float | None) -> str:
    """Bytes with a unit: `1.5 MiB`."""
    if count is None:
        return "–"
    value = float(count)
    unit = 0
    while abs(value) >= 1024 and unit < len(_SIZES) - 1:
        value /= 1024
        unit += 1
    return f"{value:.0f} {_SIZES[unit]}" if unit == 0 else f"{value:.1f} {_SIZES[unit]}"


def count(value: float | None) -> str:
    """With a thin space between thousands."""
    return "–" if value is None else f"{value:,}".replace(",", "\u2009")


def duration(milliseconds: float | None) -> str:
    """The two largest units: `3 h 5 min`."""
    if milliseconds is None:
        return "–"
    seconds = abs(milliseconds) / 1000
    sign = "−" if milliseconds < 0 else ""
    if seconds < 10:
        return f"{sign}{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return sign + " ".join(f"{number} {unit}" for number, unit in parts[:2] if number)


def moment(milliseconds: int | None) -> str:
    """Milliseconds since the epoch as a date and time in UTC; a number that is no date remains one."""
    if milliseconds is None or milliseconds < 0:
        return "–"
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def part(value: object) -> str:
    """A text as one part of a path or a value of a query; slashes are escaped as well."""
    return quote(str(value), safe="")


FILTERS = {"size": size, "count": count, "duration": duration, "moment": moment, "part": part}
"""By the names that templates use."""
