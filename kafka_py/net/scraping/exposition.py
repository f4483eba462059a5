"""The text format of Prometheus: samples by family, labels escaped. Pure.

    families = MetricFamilies()
    lines = families.of("kafka_brokers", "gauge", "Live brokers.").lines
    lines.append(f"kafka_brokers {3}")
    families.text

Source: docs/metrics.md; the text exposition format 0.0.4 of Prometheus.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

LINES_PER_PIECE = 500

_UNFIT = re.compile(r"[^a-zA-Z0-9_]")
_PLAIN = re.compile(r'[^"\\\n]*')


class MetricFamily:
    """All samples of one name. kind: counter or gauge. lines: one per sample, without line ends."""

    __slots__ = ("about", "kind", "lines", "name")

    def __init__(self, name: str, kind: str, about: str) -> None:
        self.name = name
        self.kind = kind
        self.about = about
        self.lines: list[str] = []

    def head(self) -> str:
        """The lines HELP and TYPE."""
        about = self.about.replace("\\", "\\\\").replace("\n", " ") or self.name
        return f"# HELP {self.name} {about}\n# TYPE {self.name} {self.kind}\n"


class MetricFamilies:
    """The families of one scrape, in the order in which they were first named."""

    __slots__ = ("_families",)

    def __init__(self) -> None:
        self._families: dict[str, MetricFamily] = {}

    def of(self, name: str, kind: str, about: str) -> MetricFamily:
        """The family of that name, which is made if there is none yet."""
        found = self._families.get(name)
        if found is None:
            found = self._families[name] = MetricFamily(name, kind, about)
        return found

    @property
    def text(self) -> str:
        """The text of all samples; a family without any is left out."""
        return "".join(
            family.head() + "\n".join(family.lines) + "\n" for family in self._families.values() if family.lines
        )

    def pieces(self) -> Iterator[bytes]:
        """The text of all samples in pieces of some ten thousand bytes, which leaves no samples behind.

        Between two pieces its caller may do something else: the whole text of many partitions takes long to join.
        """
        for family in self._families.values():
            head, lines = family.head(), family.lines
            for at in range(0, len(lines), LINES_PER_PIECE):
                yield (head + "\n".join(lines[at : at + LINES_PER_PIECE]) + "\n").encode()
                head = ""
            lines.clear()


def fit_name(text: str) -> str:
    """The text with `_` for what no name of a metric or label has: `client-id` becomes client_id."""
    return _UNFIT.sub("_", text)


def escaped(value: str) -> str:
    """The value of a label."""
    if _PLAIN.fullmatch(value):
        return value
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def number_text(value: float) -> str:
    """The value of a sample; infinities and NaN in the form of Prometheus."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(value)
