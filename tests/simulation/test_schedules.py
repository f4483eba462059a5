"""Clusters on simulated time, network, disks and ZooKeeper, under trouble drawn from seeds; see testing/simulation.

A failing seed is printed with its schedule; `python -m kafka_py.testing.simulation --seed N --trace` repeats it.
"""

import subprocess
import sys

import pytest

DEADLINE_S = 6000
DAILY_DEADLINE_S = 900
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


@pytest.mark.timeout(DAILY_DEADLINE_S)
def test_every_invariant_holds_over_many_schedules():
    check(1, DAILY_SEEDS)


@pytest.mark.slow
@pytest.mark.timeout(DEADLINE_S)
def test_every_invariant_holds_over_very_many_schedules():
    check(100_001, ALL_SEEDS)


@pytest.mark.timeout(DAILY_DEADLINE_S)
@pytest.mark.parametrize("seed", [5, 8, 9], ids=["troubles", "operations", "group"])
def test_a_seed_repeats_its_run_exactly(seed):
    """What the brokers log, with simulated times, is the same line for line."""
    processes = [run(seed, 1, "--trace") for _ in range(2)]
    printed = [process.communicate(timeout=DEADLINE_S)[0] for process in processes]
    traces = [[line for line in each.splitlines() if " simulated in " not in line] for each in printed]
    assert traces[0] == traces[1]
    assert len(traces[0]) > 50
