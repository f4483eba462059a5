"""`--add-config` against samples that were made with the command of Apache Kafka 2.8.2."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_py.cli.common.command import Refused
from kafka_py.cli.configs import changes_of, parser

TABLE = Path(__file__).parents[4] / "docs" / "reference" / "security" / "golden-logins.tsv"


def samples() -> list[Any]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [pytest.param(json.loads(row["input"]), json.loads(row["output"])) for row in rows
            if row["kind"] == "add_config"]  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), samples())
def test_added_settings(given: str, expected: dict[str, str]) -> None:
    options = parser().parse(["--zookeeper", "z", "--alter", "--topic", "t", "--add-config", given])
    if "error" in expected:
        with pytest.raises(Refused):
            changes_of(options)
    else:
        assert changes_of(options).added == expected
