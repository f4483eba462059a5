"""The two sides of GSSAPI with a security context of the test's own in place of the Kerberos library's."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.net.connection_failures import ConnectionLost
from kafka_py.security.sasl.gssapi_exchange import GssapiClient, GssapiServer, KerberosFailed
from kafka_py.security.sasl.kerberos_names import parse_principal, parse_rules, short_name
from kafka_py.security.sasl.mechanisms import (
    AuthenticationRefused,
    Challenge,
    ExchangeBroken,
    InvalidCredentials,
    ServerStep,
    Success,
    Work,
)

OFFER = b"signed:\1\0\0\0"


class ScriptedContext:
    """answers: to the tokens, one after the other; then it is established. An exception is raised instead."""

    def __init__(self, *answers: bytes | KerberosFailed | None, principal: str = "alice@EXAMPLE.COM") -> None:
        self._answers = list(answers)
        self._principal = principal
        self.taken: list[bytes | None] = []

    @property
    def is_established(self) -> bool:
        return not self._answers

    def step(self, token: bytes | None) -> bytes | None:
        self.taken.append(token)
        answer = self._answers.pop(0)
        if isinstance(answer, KerberosFailed):
            raise answer
        return answer

    def sign(self, data: bytes) -> bytes:
        return b"signed:" + data

    def verified(self, data: bytes) -> bytes:
        if not data.startswith(b"signed:"):
            raise KerberosFailed("the signature is wrong", 31)
        return data.removeprefix(b"signed:")

    def peer(self) -> str:
        return self._principal


def local_name(principal: str) -> str:
    return short_name(parse_principal(principal), parse_rules(["DEFAULT"]), "EXAMPLE.COM")


def server(*answers: bytes | KerberosFailed | None, **more: Any) -> Callable[[bytes], ServerStep]:
    """Takes a token as the broker does, with the work done at once."""
    mechanism = GssapiServer(ScriptedContext(*answers, **more), local_name)

    def step(token: bytes) -> ServerStep:
        work = mechanism.step(token)
        assert isinstance(work, Work)
        return work.then(work.call())

    return step


def test_a_login_at_a_broker() -> None:
    step = server(b"AP-REP")
    assert step(b"AP-REQ") == Challenge(b"AP-REP")
    assert step(b"") == Challenge(OFFER)
    made = step(b"signed:\1\0\0\0" + b"somebody else")  # an authorization id is not looked at
    assert isinstance(made, Success)
    assert (made.identity.name, made.token) == ("alice", None)
    assert made.identity.properties == {"GSSAPI.principal": "alice@EXAMPLE.COM"}


def test_a_context_may_take_more_or_fewer_tokens() -> None:
    step = server(b"more", None)
    assert step(b"1") == Challenge(b"more")
    assert step(b"2") == Challenge(OFFER)


@pytest.mark.parametrize(
    ("code", "refusal"),
    [(31, InvalidCredentials), (None, InvalidCredentials), (21, ExchangeBroken), (33, ExchangeBroken),
     (34, ExchangeBroken)],
)  # fmt: skip
def test_an_error_that_may_pass_ends_the_connection_and_others_the_login(
    code: int | None, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        server(KerberosFailed("no", code))(b"AP-REQ")


CHOICES = (b"signed:\2\0\0\0", b"signed:\3\0\0\0", b"signed:\1\0", b"signed:", b"\1\0\0\0", b"")


@pytest.mark.parametrize("choice", CHOICES)
def test_a_layer_that_was_not_offered_is_refused(choice: bytes) -> None:
    step = server(None)
    assert step(b"AP-REQ") == Challenge(OFFER)
    with pytest.raises(InvalidCredentials):
        step(choice)


def test_the_last_token_of_the_context_is_answered_by_an_empty_one() -> None:
    step = server(b"AP-REP")
    step(b"AP-REQ")
    with pytest.raises(InvalidCredentials):
        step(b"x")


def test_a_principal_without_a_rule_is_refused_by_its_name() -> None:
    step = server(None, principal="bob@OTHER.ORG")
    step(b"AP-REQ")
    with pytest.raises(AuthenticationRefused, match=r"No rules apply .*OTHER\.ORG"):
        step(OFFER)


def test_what_is_not_foreseen_is_no_secret_of_the_client() -> None:
    work = GssapiServer(ScriptedContext(None), local_name).step(b"")
    assert isinstance(work, Work)
    assert isinstance(work.failed(MemoryError("x")), InvalidCredentials)


def client(*answers: bytes | KerberosFailed | None) -> GssapiClient:
    return GssapiClient(ScriptedContext(*answers), b"AP-REQ")


def test_a_login_of_a_client() -> None:
    mechanism = client(None)
    assert mechanism.first() == b"AP-REQ"
    assert mechanism.step(b"AP-REP") == b""
    assert mechanism.step(b"signed:\7\0\xff\xff") == OFFER
    assert mechanism.step(b"") is None


@pytest.mark.parametrize("offer", [b"signed:\4\0\0\0", b"signed:\1", b"\1\0\0\0"])
def test_a_broker_that_insists_on_a_layer_is_refused(offer: bytes) -> None:
    with pytest.raises(KafkaError) as failed:
        client().step(offer)
    assert failed.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_the_client_tries_again_where_that_may_help() -> None:
    with pytest.raises(ConnectionLost):
        client(KerberosFailed("replayed", 34)).step(b"AP-REP")
    with pytest.raises(KafkaError, match="GSSAPI: not known"):
        client(KerberosFailed("not known", 7)).step(b"AP-REP")
