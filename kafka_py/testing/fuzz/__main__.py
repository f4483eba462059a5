"""`python -m kafka_py.testing.fuzz --inputs N --seed S`: the long run; exit code 1 when there are findings."""

from __future__ import annotations

import argparse
import logging
import resource
import sys
import time
from collections.abc import Callable, Sequence
from random import Random

from kafka_py.testing.fuzz.broker_cases import run_broker
from kafka_py.testing.fuzz.cases import Case, Findings, run_cases
from kafka_py.testing.fuzz.log_cases import log_cases
from kafka_py.testing.fuzz.text_cases import text_cases
from kafka_py.testing.fuzz.wire_cases import wire_cases


def run_all(inputs: int, seed: int, findings: Findings, say: Callable[[str], object] = lambda _: None) -> None:
    """Feeds `inputs` changed inputs in all: 3/10 to what reads the wire, 1/10 texts, 3/10 logs, 3/10 to a broker."""
    left = inputs
    for name, tenths, make in (("wire", 3, wire_cases), ("texts", 1, text_cases), ("logs", 3, log_cases)):
        count = inputs * tenths // 10
        left -= count
        _timed(name, count, _decoders(make, Random(f"{seed} {name}"), findings), say)
    _timed("broker", left, lambda count: run_broker(count, Random(f"{seed} broker"), findings), say)


def _decoders(make: Callable[[Random], list[Case]], chance: Random, findings: Findings) -> Callable[[int], None]:
    return lambda count: run_cases(make(chance), count, chance, findings)


def _timed(name: str, count: int, run: Callable[[int], None], say: Callable[[str], object]) -> None:
    before_s = time.perf_counter()
    run(count)
    took_s = time.perf_counter() - before_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"{name}: {count} inputs in {took_s:.1f} s, peak memory {peak_mb:.0f} MB")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kafka_py.testing.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="what repeats a run (default: %(default)s)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.CRITICAL)
    findings = Findings()
    run_all(options.inputs, options.seed, findings, print)
    print(f"{len(findings.first)} findings; the slowest input took {findings.slowest_s * 1000:.0f} ms")
    if findings.first:
        print(findings.report())
    return 1 if findings.first else 0


if __name__ == "__main__":
    sys.exit(main())
