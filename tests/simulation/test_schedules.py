"""Clusters on simulated time, network, disks and ZooKeeper, under trouble drawn from seeds; see testing/simulation.

A failing seed is printed with its schedule; `python -m kafka_py.testing.simulation --seed N --trace` repeats it.
"""

import subprocess
import sys

import pytest

DEADLINE_S = 1500
DAILY_SEEDS = 200
ALL_SEEDS = 5000
PROCESSES = 2


def run(first, count, *options):
    """A process that runs `count` seeds; what it prints, once it has ended well."""
    command = [sys.executable, "-m", "kafka_py.testing.simulation", "--seed", str(first), "--count", str(count)]
    return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def check(first, count, *options):
    """Runs the seeds in as many processes as there are cores of the smallest machine."""
    share = count // PROCESSES
    processes = [run(first + number * share, share, *options) for number in range(PROCESSES)]
    try:
        printed = [process.communicate(timeout=DEADLINE_S)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0] * PROCESSES, "\n".join(printed)
    assert all(f"{share} schedules, 0 failed" in each for each in printed)


def test_every_invariant_holds_over_many_schedules():
    check(1, DAILY_SEEDS)


@pytest.mark.slow
def test_every_invariant_holds_over_very_many_schedules():
    check(100_001, ALL_SEEDS)


def test_a_seed_repeats_its_run_exactly():
    """What the brokers log, with simulated times, is the same line for line."""
    printed = [run(5, 1, "--trace").communicate(timeout=DEADLINE_S)[0] for _ in range(2)]
    traces = [[line for line in each.splitlines() if " simulated in " not in line] for each in printed]
    assert traces[0] == traces[1]
    assert len(traces[0]) > 50
