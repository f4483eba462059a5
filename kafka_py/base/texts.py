"""Forms of text that several packages share: containers in log lines, and listeners as NAME://host:port.

Containers are shown as their elements, without Python's brackets, quotes and type names.
Source: docs/reference/configs.tsv (listeners); docs/reference/zookeeper.md, section 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

ENDPOINT = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
"""A listener's name, host and port, in settings and in registrations; an IPv6 address may be in brackets."""


def listed(items: Iterable[object]) -> str:
    """`a, b, c`; "none" for nothing."""
    return ", ".join(map(str, items)) or "none"


def paired(settings: Mapping[Any, object]) -> str:
    """`a=1, b=2`; "none" for nothing."""
    return listed(f"{name}={value}" for name, value in settings.items())


def one_line(text: str, most: int) -> str:
    """Text of others for one line of a log: without control characters, at most `most` characters of it."""
    text = text if len(text) <= most else f"{text[:most]}..."
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
