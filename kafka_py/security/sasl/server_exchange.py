"""The broker's states of one login: which request it takes when, what it answers, and how the login ends.

Pure: frames in, outcomes out, for others to carry out. One exchange is one login; logging in again on
the same connection (KIP-368) is another exchange, which begins with the handshake.
Source: KIP-43, KIP-152, KIP-368; SaslServerAuthenticator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol

from kafka_py.base.errors import ErrorCode
from kafka_py.base.slices import FileSlice
from kafka_py.net.principal import Principal, TokenPrincipal
from kafka_py.security.sasl.mechanisms import (
    GSSAPI,
    AuthenticationRefused,
    Challenge,
    ExchangeBroken,
    Identity,
    InvalidCredentials,
    ServerMechanism,
    ServerStep,
    Work,
)
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.compiler import decoder
from kafka_py.wire.frames import RequestHeader, encode_response, read_request_header
from kafka_py.wire.messages.sasl_authenticate import SaslAuthenticateResponse
from kafka_py.wire.messages.sasl_handshake import SaslHandshakeResponse
from kafka_py.wire.primitives import MalformedMessage

Parts = list[bytes | FileSlice]


class LoginState(Enum):
    """Where a login is."""

    VERSIONS_OR_HANDSHAKE = "takes ApiVersions or SaslHandshake"
    HANDSHAKE = "takes SaslHandshake"
    TOKENS = "takes the mechanism's tokens"
    WRONG_MECHANISM = "fails with the next request: another mechanism than that of the session"
    OVER = "takes nothing"


class Next(Enum):
    """What becomes of the connection."""

    CONTINUE = "the next request belongs to this login"
    WORK = "the work has to be done, then `resume`"
    COMPLETE = "the login has succeeded"
    CLOSE = "is closed at once"
    FAIL = "is closed after the delay, and the failure is counted and logged"


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A successful login. lifetime_ms: how long the session lasts; 0: without end. can_renew: by logging in again."""

    principal: Principal
    identity: Identity
    mechanism: str
    lifetime_ms: int
    can_renew: bool


class LoginOutcome(NamedTuple):
    """What comes of a request.

    reply: sent now; () for a request without response. last_reply: sent when the connection is closed. reason: for the
    log, without secrets.
    """

    next: Next
    reply: Parts | tuple[()] | None = None
    last_reply: Parts | None = None
    reason: str = ""
    work: Work | None = None
    session: LoginSession | None = None


class LoginAnswers(Protocol):
    """Answers that need more of the broker than this package knows."""

    def api_versions(self, header: RequestHeader, frame: bytearray, pos: int) -> tuple[Parts, bool]:
        """The response to ApiVersions, and whether it is free of an error. Raises MalformedMessage."""
        ...

    def refusal(self, header: RequestHeader, frame: bytearray, pos: int, code: ErrorCode, text: str) -> Parts | None:
        """The error response to a request of any API; None for one too large for it. Raises MalformedMessage."""
        ...


@dataclass(frozen=True, slots=True)
class LoginRules:
    """The settings of a listener.

    enabled: the mechanisms, as listed in a handshake. make: each supported one -> the mechanism for a new exchange.
    max_session_ms: by mechanism; 0 or absent: sessions do not end. principal_of: who has logged in; may raise
    ValueError.
    """

    enabled: tuple[str, ...]
    make: Mapping[str, Callable[[], ServerMechanism]]
    principal_of: Callable[[Identity], Principal]
    max_session_ms: Mapping[str, int] = field(default_factory=dict)


class ServerExchange:
    """One login. previous: the session that the client renews, None for the first login of a connection."""

    def __init__(self, rules: LoginRules, answers: LoginAnswers, previous: LoginSession | None = None) -> None:
        self.state = LoginState.VERSIONS_OR_HANDSHAKE if previous is None else LoginState.HANDSHAKE
        self._rules = rules
        self._answers = answers
        self._previous = previous
        self._is_first = previous is None
        self._mechanism: ServerMechanism | None = None
        self._in_requests = False  # tokens travel in SaslAuthenticate, not as bare frames
        self._asked: RequestHeader | None = None  # of the SaslAuthenticate that has no response yet

    @property
    def renews(self) -> bool:
        return self._previous is not None

    # ---- requests

    def take(self, frame: bytearray, now_ms: float) -> LoginOutcome:
        """Takes a frame without its size. now_ms: wall clock."""
        outcome = self._take(frame, now_ms)
        if outcome.next not in (Next.CONTINUE, Next.WORK):
            self.state = LoginState.OVER
        return outcome

    def _take(self, frame: bytearray, now_ms: float) -> LoginOutcome:
        is_first, self._is_first = self._is_first, False
        if self.state is LoginState.OVER:
            return LoginOutcome(Next.CLOSE, reason="a request after the end of the login")
        if self.state is LoginState.WRONG_MECHANISM:
            return LoginOutcome(Next.FAIL, reason="a session cannot be renewed with another mechanism")
        if self.state is LoginState.TOKENS and not self._in_requests:
            self._asked = None
            return self._step(bytes(frame), now_ms)
        try:
            header, pos = read_request_header(frame)
        except MalformedMessage as error:
            if is_first and GSSAPI in self._rules.make:
                return self._begin_without_handshake(bytes(frame), now_ms)
            return LoginOutcome(Next.FAIL if is_first else Next.CLOSE, reason=f"not a request: {error}")
        try:
            return self._take_request(header, frame, pos, now_ms)
        except MalformedMessage as error:
            return LoginOutcome(Next.CLOSE, reason=str(error))

    def _begin_without_handshake(self, token: bytes, now_ms: float) -> LoginOutcome:
        """Clients of 0.9 begin with a token of GSSAPI, the only mechanism of their time."""
        self._mechanism = self._rules.make[GSSAPI]()
        self.state = LoginState.TOKENS
        return self._step(token, now_ms)

    def _take_request(self, header: RequestHeader, frame: bytearray, pos: int, now_ms: float) -> LoginOutcome:
        """Raises MalformedMessage."""
        key = header.api_key
        if self.state is LoginState.TOKENS:
            if key is not ApiKey.SASL_AUTHENTICATE:
                text = f"{APIS[key].name} is no part of a login"
                reply = self._answers.refusal(header, frame, pos, ErrorCode.ILLEGAL_SASL_STATE, text)
                return LoginOutcome(Next.FAIL, reply, reason=text)
            self._asked = header
            return self._step(bytes(_body(header, frame, pos).auth_bytes), now_ms)
        if key is ApiKey.SASL_HANDSHAKE:
            return self._handshake(header, _body(header, frame, pos).mechanism)
        if key is not ApiKey.API_VERSIONS:
            return LoginOutcome(Next.FAIL, reason=f"{APIS[key].name} before the login")
        if self.state is LoginState.HANDSHAKE:
            return LoginOutcome(Next.CLOSE, reason="a second ApiVersions before the handshake")
        reply, is_good = self._answers.api_versions(header, frame, pos)
        if is_good:
            self.state = LoginState.HANDSHAKE
        return LoginOutcome(Next.CONTINUE, reply)

    def _handshake(self, header: RequestHeader, mechanism: str) -> LoginOutcome:
        enabled, make = self._rules.enabled, self._rules.make.get(mechanism)
        if mechanism not in enabled or make is None:
            if self._previous is not None:
                return LoginOutcome(Next.CLOSE, reason="a session cannot be renewed by a mechanism that is not enabled")
            reply = _reply(header, _handshake_response(ErrorCode.UNSUPPORTED_SASL_MECHANISM, enabled))
            return LoginOutcome(Next.FAIL, reply, reason=f"the mechanism {mechanism[:32]!r} is not enabled")
        reply = _reply(header, _handshake_response(ErrorCode.NONE, enabled))
        if self._previous is not None and self._previous.mechanism != mechanism:
            self.state = LoginState.WRONG_MECHANISM
            return LoginOutcome(Next.CONTINUE, reply)
        self._mechanism = make()
        self._in_requests = header.api_version >= 1
        self.state = LoginState.TOKENS
        return LoginOutcome(Next.CONTINUE, reply)

    # ---- tokens

    def _step(self, token: bytes, now_ms: float) -> LoginOutcome:
        mechanism = self._mechanism
        assert mechanism is not None
        return self._guarded(lambda: mechanism.step(token), now_ms)

    def resume(self, result: Any, now_ms: float) -> LoginOutcome:
        """Continues after Work. result: of the work's `then`, called here, or the exception that the work raised."""
        outcome = self._guarded(result, now_ms)
        if outcome.next not in (Next.CONTINUE, Next.WORK):
            self.state = LoginState.OVER
        return outcome

    def _guarded(self, step: Callable[[], ServerStep], now_ms: float) -> LoginOutcome:
        assert self._mechanism is not None
        try:
            made = step()
            if isinstance(made, Work):
                return LoginOutcome(Next.WORK, work=made)
            if isinstance(made, Challenge):
                return LoginOutcome(Next.CONTINUE, self._token_reply(made.token, 0))
            return self._complete(made.identity, made.token, now_ms)
        except AuthenticationRefused as refused:
            return self._failed(str(refused))
        except InvalidCredentials:
            what = "re-authentication" if self._previous is not None else "authentication"
            return self._failed(
                f"Authentication failed during {what} due to invalid credentials with SASL mechanism "
                f"{self._mechanism.name}"
            )
        except ExchangeBroken as broken:
            return LoginOutcome(Next.CLOSE, reason=str(broken))

    def _complete(self, identity: Identity, token: bytes | None, now_ms: float) -> LoginOutcome:
        assert self._mechanism is not None
        principal = self._named(identity)
        previous = self._previous
        if previous is not None and previous.principal != principal:
            raise AuthenticationRefused(
                "Cannot change principals during re-authentication from "
                f"{_dotted(previous.principal)}: {_dotted(principal)}"
            )
        lifetime_ms = session_lifetime_ms(
            self._rules.max_session_ms.get(self._mechanism.name, 0), identity.expires_ms, now_ms
        )
        can_renew = self._asked is not None and self._asked.api_version >= 1
        session = LoginSession(principal, identity, self._mechanism.name, lifetime_ms, can_renew)
        return LoginOutcome(Next.COMPLETE, self._token_reply(token, lifetime_ms), session=session)

    def _named(self, identity: Identity) -> Principal:
        """Raises AuthenticationRefused when who names principals refuses this one."""
        try:
            principal = self._rules.principal_of(identity)
        except ValueError as error:
            raise AuthenticationRefused(f"Authentication failed: {error}") from error
        return TokenPrincipal(*principal) if identity.is_token else principal

    def _token_reply(self, token: bytes | None, lifetime_ms: int) -> Parts | tuple[()]:
        if self._asked is None:
            return () if token is None else [len(token).to_bytes(4, "big") + token]
        return _reply(self._asked, _token_response(ErrorCode.NONE, None, token or b"", lifetime_ms))

    def _failed(self, text: str) -> LoginOutcome:
        last = None
        if self._asked is not None:
            last = _reply(self._asked, _token_response(ErrorCode.SASL_AUTHENTICATION_FAILED, text, b"", 0))
        return LoginOutcome(Next.FAIL, last_reply=last, reason=text)


def session_lifetime_ms(max_session_ms: int, expires_ms: float | None, now_ms: float) -> int:
    """How long a session lasts; 0: it does not end. Without a maximum the end of a credential has no effect."""
    if max_session_ms <= 0:
        return 0
    if expires_ms is None:
        return max_session_ms
    return max(0, min(max_session_ms, int(expires_ms - now_ms)))


def _body(header: RequestHeader, frame: bytearray, pos: int) -> Any:
    """The decoded body. Raises MalformedMessage, also for a version that is not served."""
    api = APIS[header.api_key]
    if not 0 <= header.api_version <= api.max_version:
        raise MalformedMessage(f"{api.name} v{header.api_version} is not supported")
    return decoder(api.request, header.api_version)(frame, pos)[0]


def _handshake_response(code: ErrorCode, enabled: tuple[str, ...]) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=code, mechanisms=list(enabled))


def _token_response(code: ErrorCode, text: str | None, token: bytes, lifetime_ms: int) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=code, error_message=text, auth_bytes=token, session_lifetime_ms=lifetime_ms
    )


def _reply(header: RequestHeader, response: object) -> Parts:
    return encode_response(response, header.api_version, header.correlation_id)


def _dotted(principal: Principal) -> str:
    return f"{principal.kind}.{principal.name}"
