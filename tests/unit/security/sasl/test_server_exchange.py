"""The states of a login at the broker, request by request."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.net.principal import Principal, TokenPrincipal
from kafka_py.security.sasl.mechanisms import Identity, ServerMechanism, ServerStep, Success, Work
from kafka_py.security.sasl.plain import PlainServer, StoredPasswords
from kafka_py.security.sasl.scram import ScramServer
from kafka_py.security.sasl.server_exchange import (
    LoginOutcome,
    LoginRules,
    LoginSession,
    LoginState,
    Next,
    Parts,
    ServerExchange,
    session_lifetime_ms,
)
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.frames import RequestHeader, decode_response, encode_request, encode_response
from kafka_py.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.messages.metadata import MetadataRequest
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_py.wire.primitives import MalformedMessage

GOOD, BAD = b"\0alice\0secret", b"\0alice\0wrong"
GENERIC = "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"

LARGE = 100


class Answers:
    """Answers ApiVersions v9 with an error."""

    def api_versions(self, header: RequestHeader, frame: bytearray, pos: int) -> tuple[Parts, bool]:
        is_good = header.api_version < 9
        code = ErrorCode.NONE if is_good else ErrorCode.UNSUPPORTED_VERSION
        return encode_response(ApiVersionsResponse(error_code=code, api_keys=[]), 0, header.correlation_id), is_good

    def refusal(self, header: RequestHeader, frame: bytearray, pos: int, code: ErrorCode, text: str) -> Parts | None:
        if header.api_key is ApiKey.PRODUCE:
            raise MalformedMessage("cut off")
        if len(frame) > LARGE:
            return None
        return [b"refusal %d" % code]


def plain() -> ServerMechanism:
    return PlainServer(StoredPasswords({"user_alice": "secret", "user_bob": "b"}))


def scram() -> ServerMechanism:
    return ScramServer("SCRAM-SHA-256", lambda *asked: None, "nonce")


def principal_of(identity: Identity) -> Principal:
    return Principal("User", identity.name)


def rules(**max_session_ms: int) -> LoginRules:
    make = {"PLAIN": plain, "SCRAM-SHA-256": scram}
    return LoginRules(("GSSAPI", *make), make, principal_of, max_session_ms)


def frame(request: Any, version: int) -> bytearray:
    return bytearray(encode_request(request, version, 7, "client")[4:])


def handshake(mechanism: str = "PLAIN", version: int = 1) -> bytearray:
    return frame(SaslHandshakeRequest(mechanism=mechanism), version)


def tokens(token: bytes, version: int = 2) -> bytearray:
    return frame(SaslAuthenticateRequest(auth_bytes=token), version)


def answer(outcome: LoginOutcome, cls: Any, version: int) -> Any:
    parts = outcome.reply or outcome.last_reply
    assert parts
    [data] = parts
    assert isinstance(data, bytes)
    correlation_id, message = decode_response(cls, version, data[4:])
    assert correlation_id == 7
    return message


def begun(version: int = 1, mechanism: str = "PLAIN", **more: Any) -> ServerExchange:
    exchange = ServerExchange(rules(**more), Answers())
    exchange.take(handshake(mechanism, version), 0.0)
    assert exchange.state is LoginState.TOKENS
    return exchange


def test_a_client_of_0_9_begins_with_a_token_of_gssapi() -> None:
    made = LoginRules(("GSSAPI",), {"GSSAPI": plain}, principal_of)  # which mechanism it is does not matter here
    outcome = ServerExchange(made, Answers()).take(bytearray(GOOD), 0.0)
    assert (outcome.next, outcome.reply) == (Next.COMPLETE, [b"\0\0\0\0"])
    outcome = ServerExchange(made, Answers()).take(bytearray(BAD), 0.0)
    assert (outcome.next, outcome.reply, outcome.last_reply) == (Next.FAIL, None, None)
    assert ServerExchange(rules(), Answers()).take(bytearray(GOOD), 0.0).next is Next.FAIL


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_login_in_requests(version: int) -> None:
    exchange = ServerExchange(rules(PLAIN=5000), Answers())
    assert exchange.take(frame(ApiVersionsRequest(), 0), 0.0).next is Next.CONTINUE
    listed = answer(exchange.take(handshake(), 0.0), SaslHandshakeResponse, 1)
    assert (listed.error_code, listed.mechanisms) == (0, ["GSSAPI", "PLAIN", "SCRAM-SHA-256"])
    outcome = exchange.take(tokens(GOOD, version), 0.0)
    assert outcome.next is Next.COMPLETE
    assert outcome.session is not None
    assert (outcome.session.principal, outcome.session.can_renew) == (Principal("User", "alice"), version > 0)
    reply = answer(outcome, SaslAuthenticateResponse, version)
    assert (reply.error_code, reply.auth_bytes) == (0, b"")
    assert reply.session_lifetime_ms == (5000 if version else 0)


@pytest.mark.parametrize("is_token", [True, False])
def test_whoever_names_principals_a_login_by_token_is_known_as_one(is_token: bool) -> None:
    class ByToken:
        name = "PLAIN"

        def step(self, token: bytes) -> ServerStep:
            return Success(Identity("alice", is_token=is_token))

    own = LoginRules(("PLAIN",), {"PLAIN": ByToken}, lambda identity: Principal("Own", identity.name))
    exchange = ServerExchange(own, Answers())
    exchange.take(handshake(), 0.0)
    session = exchange.take(tokens(b""), 0.0).session
    assert session is not None
    assert session.principal == Principal("Own", "alice")
    assert isinstance(session.principal, TokenPrincipal) is is_token


def test_a_login_in_bare_frames() -> None:
    outcome = begun(version=0).take(bytearray(GOOD), 0.0)
    assert (outcome.next, outcome.reply) == (Next.COMPLETE, [b"\0\0\0\0"])
    outcome = begun(version=0).take(bytearray(BAD), 0.0)
    assert (outcome.next, outcome.reply, outcome.last_reply) == (Next.FAIL, None, None)


def test_a_wrong_password_is_answered_when_the_connection_is_closed() -> None:
    outcome = begun().take(tokens(BAD), 0.0)
    assert (outcome.next, outcome.reply) == (Next.FAIL, None)
    reply = answer(outcome, SaslAuthenticateResponse, 2)
    assert reply.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert reply.error_message == "Authentication failed: Invalid username or password"


def test_an_unknown_user_of_scram_gets_the_text_of_all_failures() -> None:
    outcome = begun(mechanism="SCRAM-SHA-256").take(tokens(b"n,,n=nobody,r=abc"), 0.0)
    assert answer(outcome, SaslAuthenticateResponse, 2).error_message == GENERIC


@pytest.mark.parametrize("mechanism", ["GSSAPI", "NONE"])
def test_a_mechanism_that_is_not_there_is_refused_with_the_list(mechanism: str) -> None:
    outcome = ServerExchange(rules(), Answers()).take(handshake(mechanism), 0.0)
    assert outcome.next is Next.FAIL
    listed = answer(outcome, SaslHandshakeResponse, 1)
    assert listed.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert listed.mechanisms == ["GSSAPI", "PLAIN", "SCRAM-SHA-256"]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([bytearray(b"nonsense")], Next.FAIL),
        ([handshake(), bytearray(b"nonsense")], Next.CLOSE),
        ([frame(MetadataRequest(topics=None), 1)], Next.FAIL),
        ([frame(ApiVersionsRequest(), 0), frame(ApiVersionsRequest(), 0)], Next.CLOSE),
        ([tokens(GOOD)], Next.FAIL),
        ([handshake(), tokens(BAD), tokens(GOOD)], Next.CLOSE),
        ([handshake(), bytearray(b"\0\0\0\0\0\0\0\0\xff\xff")], Next.CLOSE),
        ([bytearray(b"\0\x11\0\x09\0\0\0\7\xff\xff")], Next.CLOSE),
    ],
)
def test_requests_out_of_order_end_the_connection_without_an_answer(frames: list[bytearray], expected: Next) -> None:
    exchange = ServerExchange(rules(), Answers())
    for each in frames:
        outcome = exchange.take(each, 0.0)
    assert (outcome.next, outcome.reply, outcome.last_reply) == (expected, None, None)


def test_another_request_between_tokens_is_answered_with_illegal_sasl_state() -> None:
    outcome = begun().take(frame(MetadataRequest(topics=None), 1), 0.0)
    assert (outcome.next, outcome.reply) == (Next.FAIL, [b"refusal %d" % ErrorCode.ILLEGAL_SASL_STATE])


def test_after_an_error_of_api_versions_the_client_may_ask_again() -> None:
    exchange = ServerExchange(rules(), Answers())
    unknown = bytearray(b"\0\x12\0\x09\0\0\0\7\xff\xff\0")
    assert exchange.take(unknown, 0.0).next is Next.CONTINUE
    assert exchange.take(frame(ApiVersionsRequest(), 0), 0.0).next is Next.CONTINUE
    assert exchange.state is LoginState.HANDSHAKE


# ---- sessions


def renewing(session: LoginSession) -> ServerExchange:
    return ServerExchange(rules(PLAIN=5000), Answers(), session)


def session() -> LoginSession:
    found = begun(PLAIN=5000).take(tokens(GOOD), 0.0).session
    assert found is not None
    return found


def test_a_session_is_renewed_by_the_same_principal() -> None:
    exchange = renewing(session())
    exchange.take(handshake(), 0.0)
    assert exchange.take(tokens(GOOD), 0.0).next is Next.COMPLETE


def test_a_session_is_not_renewed_by_another_principal() -> None:
    exchange = renewing(session())
    exchange.take(handshake(), 0.0)
    outcome = exchange.take(tokens(b"\0bob\0b"), 0.0)
    assert outcome.next is Next.FAIL
    text = "Cannot change principals during re-authentication from User.alice: User.bob"
    assert answer(outcome, SaslAuthenticateResponse, 2).error_message == text


def test_a_session_is_not_renewed_with_another_mechanism() -> None:
    exchange = renewing(session())
    assert answer(exchange.take(handshake("SCRAM-SHA-256"), 0.0), SaslHandshakeResponse, 1).error_code == 0
    outcome = exchange.take(tokens(GOOD), 0.0)
    assert (outcome.next, outcome.reply, outcome.last_reply) == (Next.FAIL, None, None)
    outcome = renewing(session()).take(handshake("NONE"), 0.0)
    assert (outcome.next, outcome.reply) == (Next.CLOSE, None)


@pytest.mark.parametrize(
    ("maximum", "expires", "lifetime"),
    [(0, None, 0), (0, 5000.0, 0), (3000, None, 3000), (3000, 9000.0, 3000), (3000, 3500.0, 2500), (3000, 500.0, 0)],
)
def test_a_session_ends_with_its_credential_if_sessions_end_at_all(
    maximum: int, expires: float | None, lifetime: int
) -> None:
    assert session_lifetime_ms(maximum, expires, 1000.0) == lifetime


def test_every_other_api_before_the_login_fails() -> None:
    for key in APIS:
        if key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE):
            continue
        header = int(key).to_bytes(2, "big") + b"\0\0\0\0\0\7\xff\xff\0\0"
        assert ServerExchange(rules(), Answers()).take(bytearray(header), 0.0).next is Next.FAIL


def test_a_large_request_of_another_kind_fails_the_login_without_a_response() -> None:
    exchange = ServerExchange(rules(), Answers())
    exchange.take(handshake(), 0)
    outcome = exchange.take(frame(MetadataRequest(topics=None), 1) + bytes(LARGE), 0)
    assert (outcome.next, outcome.reply, outcome.last_reply) == (Next.FAIL, None, None)
    assert exchange.state is LoginState.OVER


def test_only_the_first_frame_of_a_connection_may_be_a_token_of_gssapi() -> None:
    made = LoginRules(("GSSAPI",), {"GSSAPI": plain}, principal_of)
    for exchange in (ServerExchange(made, Answers()), ServerExchange(made, Answers(), session())):
        if not exchange.renews:
            exchange.take(frame(ApiVersionsRequest(), 0), 0.0)
        assert exchange.take(bytearray(GOOD), 0.0).next is Next.CLOSE


def test_a_mechanism_that_is_not_enabled_is_not_made() -> None:
    made = LoginRules(("SCRAM-SHA-256",), {"PLAIN": plain, "SCRAM-SHA-256": scram}, principal_of)
    outcome = ServerExchange(made, Answers()).take(handshake("PLAIN"), 0.0)
    assert outcome.next is Next.FAIL
    assert answer(outcome, SaslHandshakeResponse, 1).mechanisms == ["SCRAM-SHA-256"]


def test_nothing_follows_a_login_that_its_work_ended() -> None:
    class Working:
        name = "PLAIN"

        def step(self, token: bytes) -> ServerStep:
            return Work(lambda: None, lambda _: Success(Identity("alice"), b""), lambda error: error)

    exchange = ServerExchange(LoginRules(("PLAIN",), {"PLAIN": Working}, principal_of), Answers())
    exchange.take(handshake(), 0.0)
    assert exchange.take(tokens(GOOD), 0.0).next is Next.WORK
    assert exchange.resume(lambda: Success(Identity("alice"), b""), 0.0).next is Next.COMPLETE
    assert exchange.state is LoginState.OVER
    assert exchange.take(tokens(GOOD), 0.0).next is Next.CLOSE


@pytest.mark.parametrize("version", [-1, 3])
def test_a_version_that_is_not_served_closes_the_connection(version: int) -> None:
    request = tokens(GOOD)
    request[2:4] = version.to_bytes(2, "big", signed=True)
    outcome = begun().take(request, 0.0)
    assert (outcome.next, outcome.session) == (Next.CLOSE, None)
