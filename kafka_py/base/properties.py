"""Kafka's property files: the text format of java.util.Properties.

Used for server.properties, client configuration files and meta.properties. No meaning is given to any key here.
"""

import os
from collections.abc import Iterable, Iterator, Mapping

from kafka_py.base.errors import ConfigError

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str, source: str = "properties") -> dict[str, str]:
    """Keys and values of a property text; a later key wins over an earlier one.

    Lines end a pair unless a backslash continues them; `#` and `!` open comment lines; `=`, `:` or white space
    parts key from value; backslash escapes are Java's.

    source: the file's name, for the error. Raises ConfigError for a malformed \\u escape.
    """
    return {key: value for _, key, value in numbered_pairs(text, source)}


def numbered_pairs(text: str, source: str = "properties") -> Iterator[tuple[int, str, str]]:
    """Line (from 1), key and value of every pair, repeated keys included. Raises ConfigError as parse_properties."""
    for number, line in _logical_lines(text.splitlines()):
        key, value = _split(line)
        try:
            yield number, _unescape(key), _unescape(value)
        except ValueError:
            # Not the line itself: there may be a password in it.
            raise ConfigError(f"{source}, line {number}: malformed \\u escape in the value of {key}") from None


def read_properties(path: str | os.PathLike[str]) -> dict[str, str]:
    """The pairs of a property file. Raises ConfigError naming the file when it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"Cannot read the properties file {path}: {reason}") from error
    return parse_properties(text, str(path))


def format_properties(pairs: Mapping[str, str], comments: Iterable[str] = ()) -> str:
    """Property text with `comments` as its first lines, one pair per line."""
    lines = [f"#{comment}" for comment in comments]
    lines += [f"{_escape(key, ' =:#!')}={_escape(value, '#!')}" for key, value in pairs.items()]
    return "".join(line + "\n" for line in lines)


def _logical_lines(lines: Iterable[str]) -> Iterable[tuple[int, str]]:
    pending, start = "", 0
    for number, raw in enumerate(lines, 1):
        line = raw.lstrip(" \t\f")
        if not pending:
            if not line or line[0] in "#!":
                continue
            start = number
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            pending += line[:-1]
            continue
        yield start, pending + line
        pending = ""
    if pending:
        yield start, pending


def _split(line: str) -> tuple[str, str]:
    position = 0
    while position < len(line) and line[position] not in "=: \t\f":
        position += 2 if line[position] == "\\" else 1
    key, rest = line[:position], line[position:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return key, rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\" or position >= len(text):
            out.append(char)
            continue
        char = text[position]
        position += 1
        if char == "u":
            digits = text[position : position + 4]
            if len(digits) < 4:
                raise ValueError(digits)
            out.append(chr(int(digits, 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(char, char))
    return "".join(out)


def _escape(text: str, special: str) -> str:
    named = {value: key for key, value in _ESCAPES.items()}
    out = []
    for index, char in enumerate(text):
        if char in named:
            out.append("\\" + named[char])
        elif char == "\\" or char in special or (char == " " and index == 0):
            out.append("\\" + char)
        else:
            out.append(char)
    return "".join(out)
