"""Containers as log lines show them: their elements, without Python's brackets, quotes and type names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def listed(items: Iterable[object]) -> str:
    """`a, b, c`; "none" for nothing."""
    return ", ".join(map(str, items)) or "none"


def paired(settings: Mapping[Any, object]) -> str:
    """`a=1, b=2`; "none" for nothing."""
    return listed(f"{name}={value}" for name, value in settings.items())
