"""The releases that message.format.version may name, and the record format each of them writes.

Pure. Source: docs/reference/protocol.md, section 4; docs/reference/record-formats.md, sections 1 and 4.
"""

from __future__ import annotations

_RELEASES = (
    ("0.8.0", 1), ("0.8.1", 1), ("0.8.2", 1), ("0.9.0", 1),
    ("0.10.0", 2), ("0.10.1", 3), ("0.10.2", 1), ("0.11.0", 3),
    ("1.0", 1), ("1.1", 1), ("2.0", 2), ("2.1", 3), ("2.2", 2), ("2.3", 2), ("2.4", 2), ("2.5", 1), ("2.6", 1),
    ("2.7", 3), ("2.8", 2),
)  # fmt: skip
"""Release, and the number of its internal versions (-IV0, -IV1 ...)."""

_WITHOUT_INTERNAL = ("0.8.0", "0.8.1", "0.8.2", "0.9.0")

LATEST = "2.8-IV1"


def _names() -> dict[str, int]:
    """Every long and short name, with the ordinal of its release."""
    names: dict[str, int] = {}
    for number, (release, internal) in enumerate(_RELEASES):
        names[release] = number
        if release not in _WITHOUT_INTERNAL:
            names.update({f"{release}-IV{version}": number for version in range(internal)})
    return names


_NUMBERS = _names()


def _key(version: str) -> str:
    """The significant part of a version: three components of 0.x releases, two of later ones (2.8.2 is 2.8)."""
    return ".".join(version.split(".")[: 3 if version.startswith("0.") else 2])


def valid_version(version: str) -> bool:
    """Whether a setting may have this version as its value."""
    return _key(version) in _NUMBERS


def magic_of_version(version: str) -> int:
    """The record format, 0 to 2, that a valid version writes."""
    number = _NUMBERS[_key(version)]
    if number < _NUMBERS["0.10.0"]:
        return 0
    return 1 if number < _NUMBERS["0.11.0"] else 2
