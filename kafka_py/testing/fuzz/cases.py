"""One thing that is fed with changed bytes, and what is found by it. Knows no reader."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from kafka_py.testing.fuzz.mutations import mutate

SLOW_S = 1.0
"""An input of a few hundred bytes that takes longer is a finding."""


class Case(NamedTuple):
    """seeds: valid bytes. feed: takes them changed; any exception that it lets out is a finding."""

    name: str
    seeds: Sequence[bytes]
    feed: Callable[[bytearray], None]


class Finding(NamedTuple):
    """The first input with one kind of outcome that was not foreseen."""

    case: str
    reason: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.case}: {self.reason}\n  {self.data.hex()}"


class Findings:
    """Every kind of finding once, with how often it came; `where` tells kinds apart."""

    def __init__(self) -> None:
        self.first: dict[str, Finding] = {}
        self.counts: dict[str, int] = {}
        self.slowest_s = 0.0

    def add(self, case: str, where: str, reason: str, data: bytes) -> None:
        self.counts[where] = self.counts.get(where, 0) + 1
        self.first.setdefault(where, Finding(case, reason, bytes(data)))

    def add_error(self, case: str, error: BaseException, data: bytes) -> None:
        """An exception; those raised in the same place are of one kind."""
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in reversed(frames))
        self.add(case, f"{type(error).__name__} at {where}", "".join(traceback.format_exception(error)), data)

    def report(self) -> str:
        return "\n".join(f"[{self.counts[where]} times] {where}\n{finding}" for where, finding in self.first.items())


def run_cases(cases: Sequence[Case], inputs: int, chance: Random, findings: Findings) -> None:
    """Feeds `inputs` changed inputs, cases taken in turn."""
    for number in range(inputs):
        case = cases[number % len(cases)]
        data = mutate(chance.choice(case.seeds), chance)
        kept = bytes(data)
        began_s = time.perf_counter()
        try:
            case.feed(data)
        except Exception as error:
            findings.add_error(case.name, error, kept)
        took_s = time.perf_counter() - began_s
        findings.slowest_s = max(findings.slowest_s, took_s)
        if took_s > SLOW_S:
            findings.add(case.name, f"{case.name} took long", f"it took {took_s:.1f} s", kept)
