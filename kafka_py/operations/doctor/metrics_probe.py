"""Reads pages of metrics in the text format of Prometheus: descriptors and memory, and the Date of the answer (I/O).

Source: docs/operations.md, "Metrics"; the text exposition format 0.0.4 of Prometheus; RFC 9110, section 6.6.1.
"""

from __future__ import annotations

import asyncio
import http.client
import urllib.request
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime
from typing import NamedTuple, Protocol

from kafka_py.base.clock import Clock
from kafka_py.operations.doctor.examination import ClockSeen, MetricsSeen

NAMES = (
    "process_open_fds", "process_max_fds", "process_resident_memory_bytes",
    "jvm_memory_bytes_used", "jvm_memory_bytes_max", "jvm_memory_used_bytes", "jvm_memory_max_bytes",
    "kafka_controller_kafkacontroller_activecontrollercount",
)  # fmt: skip
HEAP = ('area="heap"',)
MOST_BYTES = 64 << 20
PIECE_BYTES = 1 << 16
DATE_RESOLUTION_MS = 1000.0


class PageBody(Protocol):
    """What a page is read from."""

    def read1(self, most: int, /) -> bytes:
        """What is there of it, after a wait if that is nothing; empty at its end."""


class MetricsPage(NamedTuple):
    """A page, and its Date header; when it was asked for and began to be answered (ms, wall clock)."""

    body: bytes
    date: str | None
    began_ms: int
    ended_ms: int


async def look_at_pages(
    urls: Sequence[str], clock: Clock, timeout_s: float
) -> tuple[tuple[MetricsSeen, ...], tuple[ClockSeen, ...]]:
    """The pages, and the clocks of the machines that gave them a Date."""
    loop = asyncio.get_running_loop()
    found = await asyncio.gather(*(loop.run_in_executor(None, _read, url, clock, timeout_s) for url in urls))
    return tuple(page for page, _ in found), tuple(seen for _, seen in found if seen is not None)


def _read(url: str, clock: Clock, timeout_s: float) -> tuple[MetricsSeen, ClockSeen | None]:
    try:
        page = read_page(url, clock, timeout_s)
    except (OSError, ValueError) as error:
        return MetricsSeen(url, str(error)), None
    lines = page.body.decode("utf-8", "replace").splitlines()
    return MetricsSeen(url, values=values_in(lines)), _clock(url, page.date, page.began_ms, page.ended_ms)


def read_page(url: str, clock: Clock, timeout_s: float) -> MetricsPage:
    """Reads a page, at most MOST_BYTES of it. timeout_s: until it begins, and from then on until its end.

    Raises OSError, ValueError.
    """
    began_ms = clock.wall_ms()
    try:
        with urllib.request.urlopen(address_of(url), timeout=timeout_s) as answer:
            ended_ms = clock.wall_ms()
            return MetricsPage(body_of(answer, clock, timeout_s), answer.headers.get("Date"), began_ms, ended_ms)
    except http.client.HTTPException as error:
        raise ValueError(str(error) or f"no page of HTTP ({type(error).__name__})") from error


def body_of(answer: PageBody, clock: Clock, timeout_s: float) -> bytes:
    """The content of a page. Raises TimeoutError where it comes in small pieces without end."""
    ends_ms = clock.monotonic_ms() + timeout_s * 1000
    body = bytearray()
    while len(body) < MOST_BYTES and (piece := answer.read1(PIECE_BYTES)):
        body += piece
        if clock.monotonic_ms() > ends_ms:
            raise TimeoutError(f"the page does not end within {timeout_s:.0f} s")
    return bytes(body)


def address_of(url: str) -> str:
    """The whole address of a page that may be given as host:port. Raises ValueError."""
    address = url if "://" in url else f"http://{url}"
    if not address.startswith(("http://", "https://")):
        raise ValueError("only http and https are read")
    return address if "/" in address.partition("://")[2] else f"{address}/metrics"


def _clock(url: str, date: str | None, began_ms: int, ended_ms: int) -> ClockSeen | None:
    """A Date has whole seconds: the moment is up to one second later."""
    try:
        there_ms = parsedate_to_datetime(date).timestamp() * 1000 if date else None
    except ValueError:
        return None
    if there_ms is None:
        return None
    error_ms = DATE_RESOLUTION_MS / 2 + (ended_ms - began_ms) / 2
    ahead_ms = there_ms + DATE_RESOLUTION_MS / 2 - (began_ms + ended_ms) / 2
    return ClockSeen(url, "the Date of its page of metrics", ahead_ms, error_ms)


def values_in(lines: Iterable[str]) -> dict[str, float]:
    """The sums of the samples of NAMES; of memory of a JVM the heap alone."""
    sums: dict[str, float] = {}
    for line in lines:
        name = line.partition("{")[0].partition(" ")[0]
        if name not in NAMES or (name.startswith("jvm_") and not any(each in line for each in HEAP)):
            continue
        try:
            sums[name] = sums.get(name, 0.0) + float(line.rpartition("}")[2].split()[0 if "}" in line else 1])
        except (ValueError, IndexError):
            continue
    return sums
