"""Any byte of a log damaged, in every message format, closed or live: what is whole before it is served, nothing wrong.

With KAFKA_PY_LONG in the environment a million times, on every processor; the outcomes are printed.
"""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import pytest

from .damaged_logs import FLAVOURS, STATES, Trials

TRIALS = 60
MANY_TRIALS = 1_000_000 if "KAFKA_PY_LONG" in os.environ else 12_000
AT_ONCE = 1000


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_damage_anywhere_costs_nothing_before_it_and_serves_nothing_wrong(flavour: str, state: str) -> None:
    outcomes = Trials(flavour, state, seed=0).run(TRIALS)
    assert outcomes.total() == TRIALS


def run(flavour: str, state: str, seed: int) -> Counter[str]:
    found = Trials(flavour, state, seed).run(AT_ONCE)
    return Counter({f"{flavour}, {state}: {outcome}": count for outcome, count in found.items()})


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_very_many_damaged_bytes() -> None:
    scenes = [(flavour, state) for flavour in FLAVOURS for state in STATES]
    rounds = [(*scenes[number % len(scenes)], 1 + number // len(scenes)) for number in range(MANY_TRIALS // AT_ONCE)]
    outcomes: Counter[str] = Counter()
    with ProcessPoolExecutor() as pool:
        for found in pool.map(run, *zip(*rounds, strict=True)):
            outcomes += found
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:8} {outcome}")
    assert outcomes.total() == MANY_TRIALS
