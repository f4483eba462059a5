"""Delegation tokens against samples that were made with the classes of Apache Kafka 2.8.2."""

import base64
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import DelegationToken, hmac_of
from kafka_py.security.tokens.token_keeper import token_of, znode_of
from kafka_py.zk.znodes import TokenZNode

TABLE = Path(__file__).parents[4] / "docs" / "reference" / "security" / "golden-tokens.tsv"


def samples(kind: str) -> pytest.MarkDecorator:
    """Parametrises a test with `given` and `expected`."""
    with TABLE.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if row["kind"] == kind]
    assert rows
    return pytest.mark.parametrize(
        ("given", "expected"), [(json.loads(row["input"]), json.loads(row["output"])) for row in rows]
    )


@samples("token_hmac")
def test_the_hmac_of_a_token(given: Any, expected: str) -> None:
    assert base64.b64encode(hmac_of(given["secret"], given["token_id"])).decode() == expected


@samples("token_json")
def test_a_token_is_written_and_read_as_by_apache(given: Any, expected: Any) -> None:
    token = DelegationToken(
        given["token_id"],
        Principal.parse(given["owner"]),
        tuple(map(Principal.parse, given["renewers"])),
        issued_ms=given["issue"],
        expires_ms=given["expiry"],
        max_ms=given["max"],
        hmac=b"c",
    )
    assert TokenZNode.path(token.token_id) == expected["path"]
    assert znode_of(token).encode() == expected["data"].encode()
    assert token_of(token.token_id, TokenZNode.decode(expected["data"].encode()), b"c") == token
