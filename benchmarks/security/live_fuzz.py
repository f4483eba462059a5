"""Changed frames over the sockets of a running broker: before a login, during it, and after it.

    python -m benchmarks.security.live_fuzz [--frames N] [--phases before,during,after,valid] [--rate N] [--limited]
        [--seed N]

Before: frames that a listener with logins answers without a login, and those for which it closes the connection; bytes
in place of TLS. During: exchanges of each mechanism that end badly somewhere in the middle. After: requests with
random values and bytes of every API in every version, by a user who may do what clients may do, and damaged record
batches. A frame counts when the broker has answered it or a later one, or has closed the connection because of it.
Another user writes records and asks for metadata meanwhile; for a part of the time it is alone, and for another one
the frames go to a second broker, because they keep the machine's processors busy wherever they go: what the user waits
for longer than then comes of the broker. The phase `valid` sends the requests of an honest client in the same way, for
comparison. What the dispatcher alone is fed with is
`python -m kafka_py.testing.fuzz`. Prints lines for people; it is an error if the broker ends, logs an error, or does
not have all records of the other user. With
--limited it has the limits that Kafka offers against such clients, so that few frames are read and the other user's
waits count. The short form is tests/system/test_live_fuzz.py.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.security.failed_logins import PASSWORD, USER, login
from benchmarks.security.fuzzing.generator import AT_ONCE, Counter, Generator, Order
from benchmarks.security.fuzzing.good_client import GoodClient, missing_records
from benchmarks.security.fuzzing.logins import before_scripts, during_scripts
from benchmarks.security.fuzzing.requests import request_scripts, valid_scripts
from benchmarks.security.fuzzing.target import Target, faults_in, running_target
from benchmarks.servers import folder, zookeeper

PHASES = {"before": before_scripts, "during": during_scripts, "after": request_scripts}
CONTROL = {"valid": valid_scripts}
"""The same with nothing changed: what another user waits for who has a busy neighbour."""
LOGGED_IN = ("after", "valid")
WITH, ALONE, ELSEWHERE = "meanwhile", "alone", "frames elsewhere"
WITH_S, ALONE_S = 40.0, 3.0
"""How long the other user is measured, in turn."""
SETTLE_S = 0.3
SCRIPTS = 2000
PREPARED_S = 300.0


class Found(NamedTuple):
    """What came of one phase. waits: of the other user, see GoodClient.figures. missing: of its records."""

    counts: dict[Counter, int]
    seconds: float
    cpu_s: float
    resident_mb: list[float]
    waits: dict[str, tuple[int, float, float, float]]
    written: int
    missing: int
    faults: list[str]


class Pace(NamedTuple):
    """with_s: how long the other user is measured beside changed frames; alone_s: how long alone, and then while the
    frames go to a second broker. at_once, rate: see Order.
    """

    with_s: float = WITH_S
    alone_s: float = ALONE_S
    at_once: int = AT_ONCE
    rate: float = 0.0


AT_FULL_SPEED = Pace()


def run_phase(
    name: str, target: Target, frames: int, seed: int, *, elsewhere: Target | None = None, scripts: int = SCRIPTS,
    pace: Pace = AT_FULL_SPEED, say: Callable[[str], None] = print,
) -> Found:  # fmt: skip
    """Sends so many frames, or as many as go before SIGINT. elsewhere: the second broker, None: that part is left out.

    Raises what has ended the broker or one of the clients.
    """
    generator = _generator(name, target, seed, scripts, pace)
    others = [_generator(name, elsewhere, seed, scripts, pace)] if elsewhere is not None else []
    good = GoodClient(target.port)
    good.start()
    server = target.server
    resident_mb, cpu_s, seconds = [server.resident_mb()], 0.0, 0.0
    try:
        for each in (generator, *others):
            _wait_prepared(each)
        while generator.counts()[Counter.READ] < frames:
            before_s, began_s = server.cpu_seconds(), time.monotonic()
            _measure(good, generator, WITH, pace.with_s, frames)
            cpu_s += server.cpu_seconds() - before_s
            seconds += time.monotonic() - began_s
            resident_mb.append(server.resident_mb())
            _measure(good, None, ALONE, pace.alone_s)
            for other in others:
                _measure(good, other, ELSEWHERE, pace.alone_s)
            server.check_alive()
            say(_progress(name, generator.counts(), seconds, resident_mb, good))
    except KeyboardInterrupt:
        say(f"{name}: interrupted")
    finally:
        for each in (generator, *others):
            each.stop()
    good.stop()
    missing = missing_records(target.port, good.first_offset, good.written)
    return Found(
        generator.counts(), seconds, cpu_s, resident_mb, dict(good.figures()), good.written, missing,
        faults_in(target.log),
    )  # fmt: skip


def _generator(name: str, target: Target, seed: int, scripts: int, pace: Pace) -> Generator:
    opening = login(USER, PASSWORD) if name in LOGGED_IN else b""
    make = PHASES.get(name) or CONTROL[name]
    return Generator(Order(make, scripts, opening, target.port, target.tls_port, seed, pace.at_once, pace.rate))


def _wait_prepared(generator: Generator) -> None:
    """Returns when its scripts are prepared and it has begun to send; then it rests again."""
    generator.go(True)
    ends_s = time.monotonic() + PREPARED_S
    while not generator.counts()[Counter.READ]:
        generator.check_alive()
        if time.monotonic() > ends_s:
            raise TimeoutError("the generator has sent nothing")
        time.sleep(0.02)
    generator.go(False)


def _measure(
    good: GoodClient, generator: Generator | None, mark: str, seconds: float, frames: int | None = None
) -> None:
    """Notes the waits of the other user for so long, while this generator sends, or until it has sent enough."""
    if generator is not None:
        generator.go(True)
    time.sleep(SETTLE_S)
    good.mark = mark
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s and not _has_sent(generator, frames):
        if good.failure is not None:
            raise good.failure
        time.sleep(0.05)
    good.mark = None
    if generator is not None:
        generator.go(False)


def _has_sent(generator: Generator | None, frames: int | None) -> bool:
    """Raises ChildProcessError if it has ended."""
    if generator is None:
        return False
    generator.check_alive()
    return frames is not None and generator.counts()[Counter.READ] >= frames


def _progress(
    name: str, counts: dict[Counter, int], seconds: float, resident_mb: list[float], good: GoodClient
) -> str:
    read, waits = counts[Counter.READ], good.figures()
    p99 = ", ".join(f"p99 {waits[each][2]:.1f} ms {each}" for each in (ALONE, ELSEWHERE, WITH) if each in waits)
    now = time.strftime("%H:%M:%S")
    return f"{now} {name:6} {read:9} frames, {read / seconds:.0f}/s, broker {resident_mb[-1]:.0f} MB; {p99}"


def report(name: str, found: Found) -> str:
    """Some lines."""
    counts = found.counts
    read = counts[Counter.READ]
    lines = [
        f"{name}: {read} frames read by the broker in {found.seconds:.0f} s, {read / found.seconds:.0f}/s, "
        f"{found.cpu_s / read * 1e6:.0f} us of its processor time each; {counts[Counter.SENT]} sent, "
        f"{counts[Counter.INSIDE]} read inside the exchange, {counts[Counter.TLS]} TLS records",
        f"  {counts[Counter.CONNECTIONS]} connections, {counts[Counter.ENDED]} ended by the broker, "
        f"{counts[Counter.SILENT]} silent for too long; {counts[Counter.ANSWERS]} answers",
        f"  broker: {found.resident_mb[0]:.0f} MB before, at most {max(found.resident_mb):.0f}, "
        f"{found.resident_mb[-1]:.0f} at the end; {len(found.faults)} lines of errors in its log",
        f"  the other user: {found.missing} of {found.written} records missing",
    ]
    for mark, (count, median, p99, longest) in found.waits.items():
        lines.append(f"  {mark}: {count} waits, median {median:.2f}, p99 {p99:.1f}, longest {longest:.1f} ms")
    return "\n".join([*lines, *found.faults[:20]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=100_000, help="of each phase")
    parser.add_argument("--phases", default=",".join(PHASES), help="of these and valid, with commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--connections", type=int, default=AT_ONCE, help="at a time")
    parser.add_argument("--rate", type=float, default=0.0, help="the most frames per second; 0: no limit")
    parser.add_argument("--limited", action="store_true", help="the broker limits logins, connections and requests")
    parser.add_argument("--log", type=Path, help="where the broker's log is kept")
    options = parser.parse_args()
    failed = False
    with zookeeper() as connect:
        for name in options.phases.split(","):
            with (
                folder("fuzz") as directory,
                folder("fuzz-elsewhere") as other_directory,
                running_target(f"{connect}/{name}", directory, is_limited=options.limited) as target,
                running_target(f"{connect}/{name}-elsewhere", other_directory, is_limited=options.limited) as elsewhere,
            ):
                try:
                    found = run_phase(
                        name, target, options.frames, options.seed, elsewhere=elsewhere,
                        say=lambda line: print(line, flush=True),
                        pace=Pace(at_once=options.connections, rate=options.rate),
                    )  # fmt: skip
                finally:
                    if options.log is not None:
                        shutil.copyfile(target.log, options.log)
                print(report(name, found), flush=True)
                failed = failed or bool(found.faults or found.missing)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
