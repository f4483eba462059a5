"""One command: the limit and the broker in turn on this machine, and a table of both with their ratio.

    python -m benchmarks.run [--seconds S] [--rounds N] [--only CASE,...] [--apache] [--limit-only] [--no-kcat]

Each case runs on the limit, then on the broker (then on Apache Kafka 2.8.2, with --apache), each in a fresh process;
fetch cases read what the produce case of the same shape wrote just before. CPU is the server's own, all threads, per
million records (or, for one-record batches, as good as per million requests); `busy` is its share of one core, and
where that is well below 100 % something else was the bound. `gap` is the longest time without any answer. MB are 10^6
bytes of record batches.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import servers
from benchmarks.protocol import Caller, Refused
from benchmarks.servers import ROOT, Server

KCAT_LINES = 4_000_000
KCAT_LINE_BYTES = 100
MANY_PARTITIONS = 1000


class Shape(NamedTuple):
    """Records of one size in batches of one size, and how they are sent and fetched."""

    name: str
    record_bytes: int
    batch_records: int
    connections: int
    depth: int
    fetch_batches: int


SHAPES = (
    Shape("100-byte records, batches of 9,000", 100, 9_000, 4, 4, 1),
    Shape("1-KB records, batches of 1,000", 1000, 1_000, 4, 4, 1),
    Shape("100-byte records, one per batch", 100, 1, 16, 32, 1),
    Shape("1-KB records, one per batch", 1000, 1, 16, 32, 1),
)


class Figures(NamedTuple):
    """What one case gave on one server."""

    records_per_s: float
    mb_per_s: float
    requests_per_s: float
    cpu_per_million: float
    busy: float
    resident_mb: float
    longest_gap_ms: float


Results = dict[str, Figures]


def load(kind: str, shape: Shape, server: Server, options: argparse.Namespace) -> Figures:
    """Run the load generator once."""
    command = [
        sys.executable, "-m", "benchmarks.load", kind, "--port", str(server.port), "--topic", topic_of(shape),
        "--record-bytes", str(shape.record_bytes), "--batch-records", str(shape.batch_records),
        "--connections", str(shape.connections), "--depth", str(shape.depth),
        "--fetch-batches", str(shape.fetch_batches), "--seconds", str(options.seconds),
    ]  # fmt: skip
    if kind == "produce":
        command += ["--megabytes", str(options.megabytes)]
    cpu_before = server.cpu_seconds()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        server.check_alive()
        raise Refused(done.stderr.strip() or "the load generator failed")
    measured = json.loads(done.stdout)
    seconds = measured["seconds"]
    cpu_s = server.cpu_seconds() - cpu_before
    return Figures(
        records_per_s=measured["records"] / seconds,
        mb_per_s=measured["bytes"] / seconds / 1e6,
        requests_per_s=measured["requests"] / seconds,
        cpu_per_million=cpu_s / measured["records"] * 1e6,
        busy=cpu_s / seconds,
        resident_mb=server.resident_mb(),
        longest_gap_ms=measured["longest_gap_ms"],
    )


def topic_of(shape: Shape) -> str:
    return f"bench-{shape.record_bytes}-{shape.batch_records}"


def kcat(lines: Path, server: Server, _options: argparse.Namespace) -> Figures:
    """A real C producer: kcat sends a file line by line; the clock runs from its start to its end."""
    topic = "bench-kcat"
    caller = Caller(server.port)
    partitions = caller.create_topic(topic)
    before = sum(caller.end_offsets(topic, partitions))
    cpu_before = server.cpu_seconds()
    began = time.perf_counter()
    settings = ("linger.ms=5", "batch.num.messages=10000", "acks=1")
    command = ["kcat", "-P", "-b", f"127.0.0.1:{server.port}", "-t", topic, "-l", str(lines)]
    done = subprocess.run(
        [*command, *(part for each in settings for part in ("-X", each))], capture_output=True, text=True
    )
    seconds = time.perf_counter() - began
    cpu_s = server.cpu_seconds() - cpu_before
    if done.returncode:
        raise Refused(f"kcat: {done.stderr.strip()}")
    arrived = sum(caller.end_offsets(topic, partitions)) - before
    caller.close()
    if arrived != KCAT_LINES:
        raise Refused(f"kcat sent {KCAT_LINES} lines, {arrived} arrived")
    return Figures(
        records_per_s=KCAT_LINES / seconds,
        mb_per_s=KCAT_LINES * KCAT_LINE_BYTES / seconds / 1e6,
        requests_per_s=float("nan"),
        cpu_per_million=cpu_s / KCAT_LINES * 1e6,
        busy=cpu_s / seconds,
        resident_mb=server.resident_mb(),
        longest_gap_ms=float("nan"),
    )


Run = Callable[[Server, argparse.Namespace], Figures]


def cases(lines: Path | None) -> Iterator[tuple[str, list[tuple[str, Run]]]]:
    """(name for --only, what runs one after the other on one server)."""
    for number, shape in enumerate(SHAPES, 1):
        kinds = ("produce", "fetch")
        yield f"shape{number}", [(f"{kind}, {shape.name}", partial(load, kind, shape)) for kind in kinds]
    if lines is not None:
        yield "kcat", [("produce by kcat, 100-byte lines", partial(kcat, lines))]


def run_cases(
    start: Callable[[], AbstractContextManager[Server]], runs: list[tuple[str, Run]], options: argparse.Namespace
) -> Results:
    with start() as server:
        return {name: run(server, options) for name, run in runs}


def keep_best(best: Results, results: Results) -> None:
    """Other work on the machine only ever makes a run slower: of several rounds the fastest counts."""
    for name, figures in results.items():
        if name not in best or figures.records_per_s > best[name].records_per_s:
            best[name] = figures


# ---- start-up and memory


class StartUp(NamedTuple):
    """The broker at rest."""

    first_start_s: float
    idle_mb: float
    with_partitions_mb: float
    stop_s: float
    restart_s: float


def start_up(zookeeper_connect: str) -> StartUp:
    """Start, create a thousand partitions, stop cleanly, start again."""
    with servers.folder("start") as directory:
        connect = f"{zookeeper_connect}/{directory.name}"
        server = servers.start_broker(connect, directory)
        try:
            first_start_s, idle_mb = server.started_s, server.resident_mb()
            _create_many(server)
            with_partitions_mb = server.resident_mb()
            stop_s = server.stop()
            server = servers.start_broker(connect, directory)
            return StartUp(first_start_s, idle_mb, with_partitions_mb, stop_s, server.started_s)
        finally:
            server.stop()


def _create_many(server: Server) -> None:
    command = [
        str(servers.BIN / "kafka-topics.sh"), "--bootstrap-server", f"127.0.0.1:{server.port}", "--create",
        "--topic", "many", "--partitions", str(MANY_PARTITIONS), "--replication-factor", "1",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"kafka-topics.sh: {done.stderr.strip() or done.stdout.strip()}")
    caller = Caller(server.port)
    if caller.create_topic("many", deadline_s=60) != MANY_PARTITIONS:
        raise Refused("the topic was not created with all its partitions")
    caller.close()


# ---- the table


HEADINGS = (
    "case", "server", "records/s", "MB/s", "requests/s", "CPU s/M records", "busy", "MB resident", "gap ms", "ratio",
    "CPU ratio",
)  # fmt: skip


def print_table(limit: Results, others: dict[str, Results]) -> None:
    """One line per case and server.

    `ratio` compares records/s with the limit's, `CPU ratio` the work done per second of CPU.
    """
    print()
    print(f"| {' | '.join(HEADINGS)} |")
    print(f"|---|---|{'---:|' * (len(HEADINGS) - 2)}")
    for name, most in limit.items():
        print(_line(name, "limit", most, "", ""))
        for server, results in others.items():
            if name in results:
                ratio = results[name].records_per_s / most.records_per_s
                cpu_ratio = most.cpu_per_million / max(results[name].cpu_per_million, 1e-9)
                print(_line("", server, results[name], f"{ratio:.0%}", f"{cpu_ratio:.0%}"))


def _line(case: str, server: str, figures: Figures, *ratios: str) -> str:
    cells = [
        f"{case:<42}", f"{server:<6}", f"{figures.records_per_s:,.0f}", f"{figures.mb_per_s:,.0f}",
        _number(figures.requests_per_s, ",.0f"), f"{figures.cpu_per_million:.3f}", f"{figures.busy:.0%}",
        f"{figures.resident_mb:.0f}", _number(figures.longest_gap_ms, ".0f"), *ratios,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _number(value: float, form: str) -> str:
    return "" if value != value else format(value, form)


def print_start_up(figures: StartUp) -> None:
    print()
    print("| the broker at rest | |")
    print("|---|---:|")
    print(f"| start to serving, empty | {figures.first_start_s:.2f} s |")
    print(f"| resident, idle | {figures.idle_mb:.0f} MB |")
    print(f"| resident, {MANY_PARTITIONS} partitions | {figures.with_partitions_mb:.0f} MB |")
    print(f"| clean stop, {MANY_PARTITIONS} partitions | {figures.stop_s:.2f} s |")
    print(f"| start to serving, {MANY_PARTITIONS} partitions after a clean stop | {figures.restart_s:.2f} s |")


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures the broker beside the limit.")
    parser.add_argument("--seconds", type=float, default=5.0, help="per case and server")
    parser.add_argument("--rounds", type=int, default=3, help="limit and broker in turn so often; the best counts")
    parser.add_argument("--megabytes", type=int, default=1500, help="a produce case stops at this much")
    parser.add_argument("--only", default="", help="comma-separated: shape1, shape2, shape3, shape4, kcat, start")
    parser.add_argument("--limit-only", action="store_true", help="leave the broker out")
    parser.add_argument("--apache", action="store_true", help="also measure Apache Kafka 2.8.2 (needs mvn and Java)")
    parser.add_argument("--no-kcat", action="store_true")
    options = parser.parse_args()
    try:
        return measure(options)
    except Refused as error:
        print(f"benchmark: {error}", file=sys.stderr)
        return 1


def measure(options: argparse.Namespace) -> int:
    wanted = {name for name in options.only.split(",") if name}
    limit: Results = {}
    others: dict[str, Results] = {} if options.limit_only else {"broker": {}}
    if options.apache:
        others["Apache"] = {}
    with contextlib.ExitStack() as stack:
        lines = None
        if not options.no_kcat and shutil.which("kcat"):
            lines = stack.enter_context(servers.folder("lines")) / "lines"
            write_lines(lines)
        connect = "" if options.limit_only else stack.enter_context(servers.zookeeper())
        for case, runs in cases(lines):
            if wanted and case not in wanted:
                continue
            for number in range(1, options.rounds + 1):
                print(f"{case}, round {number} ...", file=sys.stderr)
                keep_best(limit, run_cases(servers.bare_loop, runs, options))
                for server, results in others.items():
                    start = servers.apache_broker if server == "Apache" else servers.broker
                    keep_best(results, run_cases(partial(start, connect), runs, options))
        if limit:
            print_table(limit, others)
        if not options.limit_only and (not wanted or "start" in wanted):
            print_start_up(start_up(connect))
        if options.apache and (not wanted or "start" in wanted):
            with servers.apache_broker(connect) as apache:
                print(f"| Apache: start to serving, empty | {apache.started_s:.2f} s |")
                print(f"| Apache: resident, idle | {apache.resident_mb():.0f} MB |")
    return 0


def write_lines(path: Path) -> None:
    filler = "abcdefghi " * 9 + "\n"
    with path.open("w") as out:
        for start in range(0, KCAT_LINES, 10_000):
            out.writelines(f"{number:09d}{filler}" for number in range(start, start + 10_000))


if __name__ == "__main__":
    sys.exit(main())
