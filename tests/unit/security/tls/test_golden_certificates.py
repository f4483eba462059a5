"""Names and principals of certificates as Apache Kafka 2.8.2's own classes make them."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.tls.names import distinguished_name
from kafka_py.security.tls.principal_rules import PrincipalRules

SAMPLES = Path(__file__).parents[4] / "docs" / "reference" / "security" / "golden-certificates.tsv"


def samples(kind: str) -> Iterator[Any]:
    with SAMPLES.open(newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)):
            if row["kind"] == kind:
                yield pytest.param(json.loads(row["input"]), json.loads(row["output"]), id=f"{kind}-{number}")


@pytest.mark.parametrize(("given", "expected"), list(samples("x500_name")))
def test_names(given: dict[str, str], expected: str) -> None:
    assert distinguished_name(bytes.fromhex(given["der_hex"])) == expected


@pytest.mark.parametrize(("given", "expected"), list(samples("ssl_principal")))
def test_principals(given: dict[str, str], expected: str | dict[str, str]) -> None:
    if not isinstance(expected, str):
        with pytest.raises(ValueError if expected["error"] == "NoMatchingRule" else ConfigError):
            PrincipalRules(given["rules"]).name_of(given["dn"])
    else:
        assert PrincipalRules(given["rules"]).name_of(given["dn"]) == expected
