"""Java's date patterns (yyyy-MM-dd HH:mm:ss:SSS), as --date-format takes them.

Known letters: y M d D E a H h K k m s S Z z and text in single quotes. Times are shown in the local time zone.
Source: SimpleDateFormat of the JDK (pattern language).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

_TOKEN = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']+")

_FIELDS: dict[str, Callable[[datetime], int]] = {
    "d": lambda at: at.day,
    "D": lambda at: at.timetuple().tm_yday,
    "H": lambda at: at.hour,
    "k": lambda at: at.hour or 24,
    "K": lambda at: at.hour % 12,
    "h": lambda at: at.hour % 12 or 12,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "S": lambda at: at.microsecond // 1000,
}


class DatePattern:
    """A pattern, checked once. Raises ValueError for a letter that it does not know or a quote that is left open."""

    def __init__(self, pattern: str) -> None:
        self._tokens = [match[0] for match in _TOKEN.finditer(pattern)]
        if "".join(self._tokens) != pattern:
            raise ValueError(f"Unterminated quote in the date format {pattern!r}")
        self.format_ms(0)

    def format_ms(self, epoch_ms: int) -> str:
        """A moment, in ms since the epoch, as text."""
        at = datetime.fromtimestamp(epoch_ms / 1000).astimezone().replace(microsecond=epoch_ms % 1000 * 1000)
        return "".join(_rendered(token, at) for token in self._tokens)


def _rendered(token: str, at: datetime) -> str:
    letter, width = token[0], len(token)
    if letter == "'":
        return "'" if token == "''" else token[1:-1].replace("''", "'")
    if not letter.isalpha():
        return token
    if letter in _FIELDS:
        return f"{_FIELDS[letter](at):0{width}d}"
    match letter:
        case "y":
            return f"{at.year % 100:02d}" if width == 2 else f"{at.year:0{width}d}"
        case "M":
            return at.strftime("%B" if width > 3 else "%b") if width > 2 else f"{at.month:0{width}d}"
        case "E":
            return at.strftime("%A" if width > 3 else "%a")
        case "a":
            return at.strftime("%p")
        case "Z":
            return at.strftime("%z")
        case "z":
            return at.strftime("%Z")
    raise ValueError(f"Illegal pattern character '{letter}' in a date format")
