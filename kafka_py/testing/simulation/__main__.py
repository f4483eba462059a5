"""python -m kafka_py.testing.simulation [--seed N] [--count N] [--jobs N] [--trace]: runs schedules.

Prints what failed. A printed seed repeats its run exactly. Each seed runs in a fork of a process that has loaded
everything, so that no run finds anything that the ones before it have left.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import logging
import os
import struct
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from operator import add
from typing import NamedTuple, NoReturn

from kafka_py.testing.simulation.nodes import current_node
from kafka_py.testing.simulation.run import SeedResult, run_seed
from kafka_py.testing.simulation.scenario import CENTRES, ONE_OF_EACH, centre_of


class _NodeNames(logging.Filter):
    """Puts the node's name before each line."""

    def filter(self, record: logging.LogRecord) -> bool:
        node = current_node()
        record.node = node.name if node is not None else "-"
        try:
            record.at = asyncio.get_running_loop().time()
        except RuntimeError:  # a thread that loads logs
            record.at = 0.0
        return True


def _trace() -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.addFilter(_NodeNames())
    handler.setFormatter(logging.Formatter("%(at)8.3f %(node)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


class _SummaryCounts(NamedTuple):
    """What the summary counts."""

    failed: int = 0
    simulated_s: float = 0.0
    acknowledged: int = 0
    troubles: int = 0
    operations: int = 0
    commits: int = 0
    delivered: int = 0
    transactions: int = 0

    def plus(self, other: _SummaryCounts) -> _SummaryCounts:
        return _SummaryCounts(*map(add, self, other))


_PACKED = struct.Struct("qdqqqqqq")


class _Children:
    """Seeds under way, each in a process of its own: what ran before leaves no trace in it.

    A child that dies has failed; so has one that is not over after `limit_s` seconds of real time, which ends itself
    with its stack on standard error.
    """

    def __init__(self, jobs: int, limit_s: float, run: Callable[[int], SeedResult], *, print_digests: bool) -> None:
        self.total = _SummaryCounts()
        self._jobs = jobs
        self._limit_s = limit_s
        self._run = run
        self._print_digests = print_digests
        self._running: dict[int, tuple[int, int]] = {}
        """By process id (seed, pipe to read its outcome from)."""

    def begin(self, seed: int) -> None:
        """Runs a seed, once fewer than `jobs` are under way."""
        if len(self._running) == self._jobs:
            self._reap()
        reading, writing = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if not child:
            os.close(reading)
            self._be_child(seed, writing)
        os.close(writing)
        self._running[child] = seed, reading

    def finish(self) -> None:
        """Waits for all."""
        while self._running:
            self._reap()

    def _be_child(self, seed: int, writing: int) -> NoReturn:
        faulthandler.dump_traceback_later(self._limit_s, exit=True)
        verdict = self._run(seed)
        if verdict.faults:
            sys.stdout.write(f"{verdict}\n")
        if self._print_digests:
            sys.stdout.write(f"digest of seed {seed}: {verdict.digest:08x}\n")
        sys.stdout.flush()
        outcome = _SummaryCounts(
            bool(verdict.faults), verdict.simulated_s, verdict.acknowledged, len(verdict.troubles),
            verdict.carried_out, verdict.commits, verdict.delivered, verdict.transactions,
        )  # fmt: skip
        os.write(writing, _PACKED.pack(*outcome))
        os._exit(0)

    def _reap(self) -> None:
        child, _ = os.waitpid(-1, 0)
        seed, reading = self._running.pop(child)
        with open(reading, "rb") as pipe:
            packed = pipe.read()
        if packed:
            self.total = self.total.plus(_SummaryCounts(*_PACKED.unpack(packed)))
        else:
            print(f"seed {seed}: its process died, or was not over after {self._limit_s:.0f} s", flush=True)
            self.total = self.total.plus(_SummaryCounts(failed=True))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kafka_py.testing.simulation")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many seeds, one after the other")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--troubles", type=int, default=8, help="how many things go wrong in a schedule")
    parser.add_argument("--jobs", type=int, default=1, help="how many seeds at a time, each in a process")
    parser.add_argument("--limit", type=float, default=120, help="seconds of real time that a seed may take")
    parser.add_argument("--centre", choices=sorted(set(CENTRES)), help="only the seeds that are about this")
    parser.add_argument("--stop", action="store_true", help="end with the first seed that fails")
    parser.add_argument("--trace", action="store_true", help="print what the brokers log")
    parser.add_argument("--digests", action="store_true", help="print a digest of what each seed's network carried")
    options = parser.parse_args()
    if not options.trace:
        logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda _unraisable: None  # last words of dead nodes' coroutines
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)  # and those that never began
    began_s = time.perf_counter()
    for seed in ONE_OF_EACH:  # whatever is made on first use is made before the first fork
        run_seed(seed, brokers=options.brokers, troubles=0)
    if options.trace:
        _trace()
    gc.collect()
    gc.freeze()
    children = _Children(
        options.jobs, options.limit, partial(run_seed, brokers=options.brokers, troubles=options.troubles),
        print_digests=options.digests,
    )  # fmt: skip
    seeds = range(options.seed, options.seed + options.count)
    for seed in seeds:
        if options.centre in (None, centre_of(seed)):
            children.begin(seed)
        if options.stop and children.total.failed:
            break
    children.finish()
    total, took_s = children.total, time.perf_counter() - began_s
    print(f"{options.count} schedules, {total.failed} failed, {total.simulated_s:.0f} s simulated in {took_s:.1f} s, "
          f"{total.acknowledged} records acknowledged, {total.troubles} troubles, {total.operations} operations, "
          f"{total.commits} commits, {total.transactions} transactions, {total.delivered} deliveries")  # fmt: skip
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
