"""Samples about ACLs, made with the classes of Apache Kafka 2.8.2."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).parents[4] / "docs" / "reference" / "security" / "golden-acls.tsv"


def samples(kind: str) -> list[Any]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = [
        pytest.param(json.loads(row["input"]), json.loads(row["output"]), id=f"{kind}-{number}")
        for number, row in enumerate(rows)
        if row["kind"] == kind
    ]
    assert found
    return found
