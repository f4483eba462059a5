"""Tokens are found by id and HMAC; the credentials of their logins are derived once, and go with them."""

from dataclasses import replace

import pytest

from kafka_py.base.chance import Chance
from kafka_py.net.principal import Principal
from kafka_py.security.sasl.mechanisms import Challenge, InvalidCredentials, Success, Work
from kafka_py.security.sasl.scram import Derivation, ScramClient, ScramServer, ScramUser
from kafka_py.security.sasl.scram_credentials import ScramCredential
from kafka_py.security.sasl.scram_users import ScramUsers
from kafka_py.security.tokens.delegation_tokens import DelegationToken
from kafka_py.security.tokens.token_index import TokenIndex

TOKEN = DelegationToken("id", Principal("User", "alice"), (), 1, 2, 3, b"hmac")
MECHANISM = "SCRAM-SHA-256"


def index() -> TokenIndex:
    made = TokenIndex(Chance(1))
    made.put(TOKEN, 7)
    return made


def test_a_token_is_found_by_id_and_hmac_until_it_is_removed() -> None:
    known = index()
    assert (known.of("id"), known.id_of(b"hmac"), known.tokens(), len(known)) == ((TOKEN, 7), "id", [TOKEN], 1)
    known.remove("id")
    known.remove("id")
    assert (known.of("id"), known.id_of(b"hmac"), known.tokens(), len(known)) == (None, None, [], 0)


def credential_of(known: TokenIndex, mechanism: str = MECHANISM) -> ScramCredential:
    found = known.find_login(mechanism, "id")
    assert isinstance(found, ScramUser)
    assert found == ScramUser(found.credential, "alice", 2)
    return found.credential


def test_the_credential_of_a_login_is_derived_once() -> None:
    known = index()
    assert known.find_login(MECHANISM, "other") is None
    waiting = [known.find_login(MECHANISM, "id") for _ in range(3)]  # of logins that come at the same time
    found = set()
    for each in waiting:
        assert isinstance(each, Derivation)
        each.derive()
        found.add(credential_of(known))
    assert len(found) == 1
    assert isinstance(known.find_login("SCRAM-SHA-512", "id"), Derivation)
    renewed = replace(TOKEN, expires_ms=3)
    known.put(renewed, 8)
    assert known.find_login(MECHANISM, "id") == ScramUser(found.pop(), "alice", 3)


def test_a_credential_is_removed_with_its_token() -> None:
    known = index()
    before = known.find_login(MECHANISM, "id")
    assert isinstance(before, Derivation)
    known.remove("id")
    before.derive()
    assert known.find_login(MECHANISM, "id") is None
    known.put(TOKEN, 8)
    assert isinstance(known.find_login(MECHANISM, "id"), Derivation)


def log_in(known: TokenIndex, client: ScramClient, *, meanwhile: bool = False) -> Success:
    server = ScramServer(client.name, ScramUsers(known.find_login).find, "server")
    step = server.step(client.first())
    assert isinstance(step, Work)
    if meanwhile:
        known.remove("id")
    challenge = step.then(step.call())
    assert isinstance(challenge, Challenge)
    answer = client.step(challenge.token)
    assert answer is not None
    success = server.step(answer)
    assert isinstance(success, Success)
    return success


def test_a_login_with_a_token_is_one_of_its_owner() -> None:
    for mechanism in (MECHANISM, "SCRAM-SHA-512"):
        success = log_in(index(), ScramClient(mechanism, "id", TOKEN.password, "nonce", is_token=True))
        assert (success.identity.name, success.identity.is_token, success.identity.expires_ms) == ("alice", True, 2)


def test_a_token_that_is_removed_while_its_credential_is_derived_logs_nobody_in() -> None:
    with pytest.raises(InvalidCredentials):
        log_in(index(), ScramClient(MECHANISM, "id", TOKEN.password, "nonce", is_token=True), meanwhile=True)


def test_a_wrong_hmac_and_a_login_that_is_not_marked_as_one_of_a_token_are_refused() -> None:
    with pytest.raises(InvalidCredentials):
        log_in(index(), ScramClient(MECHANISM, "id", "wrong", "nonce", is_token=True))
    server = ScramServer(MECHANISM, ScramUsers(index().find_login).find, "server")
    with pytest.raises(InvalidCredentials):
        server.step(ScramClient(MECHANISM, "id", TOKEN.password, "nonce").first())
