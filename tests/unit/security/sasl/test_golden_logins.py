"""Logins against samples that were made with the classes of Apache Kafka 2.8.2."""

import base64
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.jaas import MalformedJaas, parse_property
from kafka_py.security.sasl.kerberos_names import NoMatchingRule, parse_principal, parse_rules, short_name
from kafka_py.security.sasl.mechanisms import Challenge, ExchangeBroken, InvalidCredentials, Success
from kafka_py.security.sasl.oauth_tokens import TokenRefused, unsecured_login, validate_unsecured
from kafka_py.security.sasl.oauthbearer import format_first, parse_first
from kafka_py.security.sasl.scram import ScramClient, ScramServer, ScramUser
from kafka_py.security.sasl.scram_credentials import credential_of, parse_credential, salted_password
from kafka_py.security.sasl.scram_messages import parse_client_first

TABLE = Path(__file__).parents[4] / "docs" / "reference" / "security" / "golden-logins.tsv"


def rows() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def samples(kind: str) -> pytest.MarkDecorator:
    """Parametrises a test with `given` and `expected`."""
    found = [(json.loads(row["input"]), json.loads(row["output"])) for row in rows() if row["kind"] == kind]
    assert found
    return pytest.mark.parametrize(("given", "expected"), found, ids=[str(number) for number in range(len(found))])


def is_failure(expected: Any) -> bool:
    return isinstance(expected, dict) and "error" in expected


@samples("jaas_config")
def test_login_entry(given: str, expected: Any) -> None:
    if is_failure(expected):
        with pytest.raises(MalformedJaas):
            parse_property(given)
        return
    found = parse_property(given)
    assert {"module": found.module, "flag": found.flag, "options": dict(found.options)} == expected


@samples("kerberos_name")
def test_short_name_of_a_kerberos_principal(given: Any, expected: Any) -> None:
    def name() -> str:
        return short_name(parse_principal(given["principal"]), parse_rules(given["rules"]), given["realm"])

    if is_failure(expected):
        with pytest.raises((NoMatchingRule, ValueError, ConfigError)):
            name()
    else:
        assert name() == expected


@samples("oauth_client_first")
def test_first_message_of_a_bearer(given: Any, expected: str) -> None:
    assert format_first(given["token"], given["extensions"]).decode() == expected


@samples("oauth_parse_first")
def test_reading_the_first_message_of_a_bearer(given: str, expected: Any) -> None:
    if is_failure(expected):
        broken = expected["error"] != "SaslException"
        with pytest.raises(ExchangeBroken if broken else InvalidCredentials):
            parse_first(given.encode())
        return
    found = parse_first(given.encode())
    assert [found.token, found.authorization_id, found.extensions] == [
        expected["token"], expected["authzid"], expected["extensions"],
    ]  # fmt: skip


@samples("oauth_validate")
def test_check_of_an_unsigned_token(given: Any, expected: Any) -> None:
    def check() -> Any:
        found = validate_unsecured(given["token"], given["options"], given["now_ms"])
        return {
            "principal": found.principal, "lifetime_ms": found.lifetime_ms, "start_ms": found.start_ms,
            "scope": list(found.scope),
        }  # fmt: skip

    if "exception" in expected:
        with pytest.raises(ExchangeBroken):
            check()
    elif "status" in expected:
        with pytest.raises(TokenRefused) as refused:
            check()
        assert {"status": refused.value.status, "scope": refused.value.scope} == expected
    else:
        assert check() == expected


@samples("oauth_login")
def test_unsigned_token_of_a_login(given: Any, expected: Any) -> None:
    if is_failure(expected):
        with pytest.raises(ConfigError):
            unsecured_login(given["options"], given["now_ms"])
        return
    found = unsecured_login(given["options"], given["now_ms"])
    if expected.get("token", "") is None:
        assert found is None
        return
    assert found is not None
    claims = found.value.split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4))) == json.loads(expected["claims"])
    assert found.principal == expected["principal"]


@samples("scram_credential")
def test_scram_credential_of_a_password(given: Any, expected: str) -> None:
    mechanism, salt, iterations = given["mechanism"], base64.b64decode(given["salt"]), given["iterations"]
    salted = salted_password(mechanism, given["password"], salt, iterations)
    assert base64.b64encode(salted).decode() == given["salted_password"]
    credential = credential_of(mechanism, salted, salt, iterations)
    assert credential.text() == expected
    assert parse_credential(expected) == credential


@samples("scram_exchange")
def test_messages_of_a_scram_exchange(given: Any, expected: Any) -> None:
    mechanism, salt, iterations = given["mechanism"], base64.b64decode(given["salt"]), given["iterations"]
    salted = salted_password(mechanism, given["password"], salt, iterations)
    user = ScramUser(credential_of(mechanism, salted, salt, iterations), "owner")
    is_token = "tokenauth" in given["extensions"]
    server = ScramServer(mechanism, lambda *asked: user, given["server_nonce"])
    client = ScramClient(
        mechanism, given["username"], given["password"], given["client_nonce"], is_token=is_token
    )
    client_first = client.first()
    assert client_first.decode() == expected["client_first"]
    challenge = server.step(client_first)
    assert challenge == Challenge(expected["server_first"].encode())
    client_final = client.step(challenge.token)
    assert client_final is not None
    assert client_final.decode() == expected["client_final"]
    success = server.step(client_final)
    assert isinstance(success, Success)
    assert success.token is not None
    assert success.token.decode() == expected["server_final"]
    assert success.identity.is_token is is_token
    assert client.step(success.token) is None


@samples("scram_client_first")
def test_reading_the_first_message_of_scram(given: str, expected: Any) -> None:
    if is_failure(expected):
        with pytest.raises(ValueError):
            parse_client_first(given.encode())
        return
    found = parse_client_first(given.encode())
    assert {
        "username": found.username, "nonce": found.nonce, "authzid": found.authorization_id,
        "extensions": found.extensions, "token": found.is_token,
    } == expected  # fmt: skip
