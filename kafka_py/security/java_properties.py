"""The system properties that `-Dname=value` in KAFKA_OPTS sets, as Apache Kafka's scripts pass them to Java."""

from __future__ import annotations

import shlex
from collections.abc import Mapping


def java_properties(environ: Mapping[str, str]) -> dict[str, str]:
    """By name; of one that is set twice the last, as in Java."""
    text = environ.get("KAFKA_OPTS", "")
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    pairs = (word.removeprefix("-D").partition("=") for word in words if word.startswith("-D"))
    return {name: value for name, _, value in pairs}
