"""python -m kafka_py.testing.simulation [--seed N] [--count N] [--trace]: runs schedules, prints what failed.

Runs itself again under a fixed hash seed and with fixed addresses, for the order of sets depends on both: so a printed
seed repeats its run exactly. For the same reason each seed runs in a fork of a process that has loaded everything.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import logging
import os
import struct
import sys
import time
import warnings
from operator import add
from typing import NamedTuple

from kafka_py.testing.simulation.nodes import current_node
from kafka_py.testing.simulation.run import run_seed
from kafka_py.testing.simulation.scenario import ONE_OF_EACH

HASH_SEED = "0"
ADDR_NO_RANDOMIZE = 0x0040000


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


class _Outcome(NamedTuple):
    """What the summary counts."""

    failed: int = 0
    simulated_s: float = 0.0
    acknowledged: int = 0
    troubles: int = 0
    operations: int = 0
    commits: int = 0
    delivered: int = 0

    def plus(self, other: _Outcome) -> _Outcome:
        return _Outcome(*map(add, self, other))


_PACKED = struct.Struct("qdqqqqq")


def _run_in_child(seed: int, brokers: int, troubles: int) -> _Outcome:
    """One seed in a process of its own: what ran before leaves no trace in it. A child that dies has failed."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        verdict = run_seed(seed, brokers=brokers, troubles=troubles)
        if verdict.faults:
            print(verdict)
        sys.stdout.flush()
        outcome = _Outcome(
            bool(verdict.faults), verdict.simulated_s, verdict.acknowledged, len(verdict.troubles),
            verdict.carried_out, verdict.commits, verdict.delivered,
        )  # fmt: skip
        os.write(writing, _PACKED.pack(*outcome))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        packed = pipe.read()
    os.waitpid(child, 0)
    if not packed:
        print(f"seed {seed}: its process died", flush=True)
        return _Outcome(failed=True)
    return _Outcome(*_PACKED.unpack(packed))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m kafka_py.testing.simulation")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many seeds, one after the other")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--troubles", type=int, default=8, help="how many things go wrong in a schedule")
    parser.add_argument("--trace", action="store_true", help="print what the brokers log")
    options = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)  # where that is forbidden, runs repeat but for rare orders
        command = [sys.executable, "-m", __package__ or "", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": HASH_SEED})
    if not options.trace:
        logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda _unraisable: None  # last words of dead nodes' coroutines
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)  # and those that never began
    total, began_s = _Outcome(), time.perf_counter()
    for seed in ONE_OF_EACH:  # whatever is made on first use is made before the first fork
        run_seed(seed, brokers=options.brokers, troubles=0)
    if options.trace:
        _trace()
    gc.collect()
    gc.freeze()
    for seed in range(options.seed, options.seed + options.count):
        total = total.plus(_run_in_child(seed, options.brokers, options.troubles))
    took_s = time.perf_counter() - began_s
    print(f"{options.count} schedules, {total.failed} failed, {total.simulated_s:.0f} s simulated in {took_s:.1f} s, "
          f"{total.acknowledged} records acknowledged, {total.troubles} troubles, {total.operations} operations, "
          f"{total.commits} commits, {total.delivered} deliveries")  # fmt: skip
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
