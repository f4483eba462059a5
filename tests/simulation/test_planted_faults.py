"""The simulation sees faults: each of these, planted into the broker or a client, makes one of few seeds fail."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PLANTED = Path(__file__).parent / "planted.py"
DEADLINE_S = 1200

FAULTS = [
    ("acknowledge-at-once", "troubles", 60, "are lost"),
    ("append-repeated", "troubles", 60, "are there twice"),
    ("commit-what-is-aborted", "troubles", 30, "its records say otherwise"),
    ("commit-what-was-not-read", "group", 40, "members have read up to"),
    ("compact-while-moving", "compaction", 400, "the records that were written say None"),
    ("forget-transactional-offsets", "troubles", 60, " [1-9][0-9]* are there more than once"),
    ("forget-truncations", "compaction", 400, "the records that were written say None"),
    ("inherit-compaction", "compaction", 600, "the records that were written say None"),
    ("join-too-early", "troubles", 60, "for committed"),
    ("keep-the-epoch", "troubles", 800, "its records say otherwise"),
    ("read-open-transactions", "troubles", 60, "a reader of committed records saw"),
    ("read-to-the-end", "troubles", 20, "let a reader have up to"),
    ("skip-the-table", "compaction", 60, "the records that were written say None"),
]


@pytest.mark.slow
@pytest.mark.timeout(DEADLINE_S)
@pytest.mark.parametrize(("fault", "centre", "seeds", "reported"), FAULTS, ids=[row[0] for row in FAULTS])
def test_a_planted_fault_is_found(fault, centre, seeds, reported):
    command = [sys.executable, PLANTED, fault, "--centre", centre, "--count", str(seeds), "--jobs", "2", "--stop"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
    assert ended.returncode == 1, ended.stderr
    assert re.search(reported, ended.stdout)
