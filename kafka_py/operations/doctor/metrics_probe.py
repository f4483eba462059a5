"""Reads pages of metrics in the text format of Prometheus: descriptors and memory, and the Date of the answer (I/O).

Source: docs/operations.md, "Metrics"; the text exposition format 0.0.4 of Prometheus; RFC 9110, section 6.6.1.
"""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime

from kafka_py.base.clock import Clock
from kafka_py.operations.doctor.examination import ClockSeen, MetricsSeen

NAMES = (
    "process_open_fds", "process_max_fds", "process_resident_memory_bytes",
    "jvm_memory_bytes_used", "jvm_memory_bytes_max", "jvm_memory_used_bytes", "jvm_memory_max_bytes",
    "kafka_controller_kafkacontroller_activecontrollercount",
)  # fmt: skip
HEAP = ('area="heap"',)
MOST_BYTES = 64 << 20
DATE_RESOLUTION_MS = 1000.0


async def look_at_pages(
    urls: Sequence[str], clock: Clock, timeout_s: float
) -> tuple[tuple[MetricsSeen, ...], tuple[ClockSeen, ...]]:
    """The pages, and the clocks of the machines that gave them a Date."""
    loop = asyncio.get_running_loop()
    found = await asyncio.gather(*(loop.run_in_executor(None, _read, url, clock, timeout_s) for url in urls))
    return tuple(page for page, _ in found), tuple(seen for _, seen in found if seen is not None)


def _read(url: str, clock: Clock, timeout_s: float) -> tuple[MetricsSeen, ClockSeen | None]:
    began_ms = clock.wall_ms()
    try:
        with urllib.request.urlopen(address_of(url), timeout=timeout_s) as answer:
            ended_ms = clock.wall_ms()
            date = answer.headers.get("Date")
            text = answer.read(MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        return MetricsSeen(url, str(error)), None
    return MetricsSeen(url, values=values_in(text.splitlines())), _clock(url, date, began_ms, ended_ms)


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
