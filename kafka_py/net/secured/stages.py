"""What an accepted connection passes before its requests are served: the TLS handshake, then the login of its listener.

A listener has a ListenerSecurity unless it is a plain one. After a handshake the certificate says who the client is; on
a listener with logins the receiver that `begin_login` makes gets the frames, small ones only, until it calls `succeed`
or `fail`. Each stage has a deadline. Failures are counted, and logged once per address and second.
Source: SslTransportLayer; SaslServerAuthenticator; KIP-152.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.texts import one_line
from kafka_py.net.connection import Connection, OnRequest
from kafka_py.net.event_loop.turns import LoopTurns
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.net.secured.handshakes import HANDSHAKE_S, Handshake, HandshakeFailed, IsShort, never
from kafka_py.net.secured.short_steps import ShortSteps
from kafka_py.net.secured.tls_transport import MakeTls, TlsTransport
from kafka_py.net.secured.unauthenticated import UnauthenticatedConnections

_log = logging.getLogger(__name__)

UNAUTHENTICATED_FRAME_BYTES = 524_288
"""The largest frame before a login (sasl.server.max.receive.size has the same default)."""
LOGIN_S = 30.0
"""As long a login may take."""
_LOOK_S = 0.05
"""How often it is looked whether all requests before a failed login are answered."""
_MOST_ADDRESSES = 1024
_MOST_REASON = 500
"""Characters of a reason, which may quote the client."""

BeginLogin = Callable[["LoginStage"], OnRequest]
"""Makes what receives the frames of one connection until its client has logged in."""

OnSession = Callable[[Connection, tuple[str, str]], None]
"""Receives a connection, and the cipher suite and version of its TLS session."""


def anonymous(_connection: Connection, _certificate: bytes | None) -> Principal:
    """Everyone."""
    return ANONYMOUS


class ListenerSecurity(NamedTuple):
    """How the connections of one listener are protected.

    make_tls: makes the server's end of a TLS session, with the present certificates; None on a listener without TLS.
    principal_of: who the client of a connection is, by its certificate (DER, None where none was shown); raises
    ValueError with one line. Where there are logins, these say it. begin_login: see BeginLogin; None on a listener
    without logins. executor: for the cryptography of handshakes. is_short: which of their steps need none of it.
    """

    make_tls: MakeTls | None = None
    principal_of: Callable[[Connection, bytes | None], Principal] = anonymous
    begin_login: BeginLogin | None = None
    executor: Executor | None = None
    is_short: IsShort = never


class FailureLog:
    """Log lines about failed connections: one per address and second, with the number of those left out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[int, int]] = {}  # address -> second, lines left out since

    def note(self, connection: Connection, what: str, of: str = "authentication") -> None:
        host, second = connection.peer_host, int(self._clock.monotonic_s())
        last, left_out = self._seen.pop(host, (-1, 0))
        if last == second:
            self._seen[host] = last, left_out + 1
            return
        if len(self._seen) >= _MOST_ADDRESSES:
            del self._seen[next(iter(self._seen))]
        self._seen[host] = second, 0
        more = f"; {left_out} more from this address since the last line" if left_out else ""
        reason = one_line(what, _MOST_REASON)
        _log.info("Failed %s with %s:%d (%s)%s", of, host, connection.peer_port, reason, more)


class HandshakeStage:
    """The TLS handshake of a connection; on_secured: what follows."""

    def __init__(
        self, connection: Connection, transport: TlsTransport, security: ListenerSecurity,
        handshake: Handshake, failures: FailureLog, on_secured: Callable[[], None],
    ) -> None:  # fmt: skip
        self._connection = connection
        self._transport = transport
        self._security = security
        self._failures = failures
        self._on_secured = on_secured
        self._handshake = handshake

    def start(self, within_s: float = HANDSHAKE_S) -> None:
        self._handshake.start(self._secured, self._failed, within_s)

    def _secured(self) -> None:
        connection = self._connection
        connection.is_active = True
        try:
            connection.principal = self._security.principal_of(connection, self._transport.peer_certificate())
        except ValueError as error:
            self._failed(HandshakeFailed(str(error), is_fatal=True))
            return
        self._on_secured()

    def _failed(self, error: HandshakeFailed) -> None:
        connection = self._connection
        if error.is_fatal:
            connection.metrics.failed_authentications += 1
            self._failures.note(connection, f"SSL handshake failed: {error}")
        connection.close(str(error))

    def cancel(self) -> None:
        self._handshake.cancel()

    def fail_malformed(self, reason: str) -> bool:
        """Requests are read after the handshake only."""
        return False


class LoginStage:
    """The login of a connection.

    transport: None without TLS. requests: receives its frames when it has succeeded. on_passed: is called then.
    """

    def __init__(
        self, connection: Connection, transport: TlsTransport | None, requests: OnRequest,
        loop: asyncio.AbstractEventLoop, failures: FailureLog, on_passed: Callable[[Connection], None],
    ) -> None:  # fmt: skip
        self.connection = connection
        self.transport = transport
        self.requests = requests
        self._loop = loop
        self._failures = failures
        self._on_passed = on_passed
        self.failure_delay_s: Callable[[], float] = lambda: 0.0
        """The present delay of failures; what logs the client in sets it."""
        self._deadline: asyncio.TimerHandle | None = None
        self._is_renewal = False
        self._is_over = False  # it has succeeded
        self.has_failed = False
        """Whether it is to be closed, perhaps after a delay: whatever succeeds then comes too late."""
        self._first_slot = 0  # of the requests of a renewal
        self._is_behind = False  # requests before a renewal had no response when its time was last looked at

    def start(self, begin: BeginLogin, within_s: float = LOGIN_S) -> None:
        """Hand the frames to the receiver that `begin` makes, for as long as the login may take."""
        self._limit(within_s)
        self.connection.on_request = begin(self)

    def certificate(self) -> bytes | None:
        """The client's as DER; None without one."""
        return None if self.transport is None else self.transport.peer_certificate()

    def begin_again(self, receiver: OnRequest, within_s: float = LOGIN_S) -> None:
        """The client renews its session: `receiver` gets the frames until it calls `succeed` or `fail` again."""
        self._is_renewal, self._is_over = True, False
        self._first_slot = self.connection.received_requests - 1  # the handshake, which has just been handed on
        self._is_behind = self._waits_for_others()
        self._limit(within_s)
        self.connection.on_request = receiver

    def _limit(self, within_s: float) -> None:
        self._deadline = self._loop.call_later(within_s, self._end_late, within_s)
        self.connection.limit_frames(UNAUTHENTICATED_FRAME_BYTES)

    def _waits_for_others(self) -> bool:
        """The client cannot go on with a renewal while requests before it, such as JoinGroup, have no response."""
        return self.connection.sent_responses < self._first_slot

    def _end_late(self, within_s: float) -> None:
        """Where the client had to wait at first, it has had an unknown part of its time, and gets all of it."""
        was_behind, self._is_behind = self._is_behind, self._waits_for_others()
        if was_behind:
            self._deadline = self._loop.call_later(within_s, self._end_late, within_s)
        else:
            self.fail(f"the login was not complete after {within_s:.0f} s")

    def succeed(self, principal: Principal) -> None:
        """From the next frame on the connection is served, in the name of `principal`."""
        self.cancel()
        self._is_over = True
        connection = self.connection
        self._on_passed(connection)
        connection.principal = principal
        connection.limit_frames(None)
        connection.on_request = self.requests
        if self._is_renewal:
            connection.metrics.successful_reauthentications += 1
        else:
            connection.metrics.successful_authentications += 1

    def fail_malformed(self, reason: str) -> bool:
        if not self._is_over:
            self.fail(reason, self.failure_delay_s())
        return not self._is_over

    def fail(self, reason: str, delay_s: float = 0.0, before_close: Callable[[], None] | None = None) -> None:
        """Count and log it once, and close the connection: at once, or after a delay in which nothing more is read.

        before_close: gives the last response. Responses that were given before still leave.
        """
        connection = self.connection
        if connection.closed or self.has_failed:
            return
        self.cancel()
        self.has_failed = True
        if self._is_renewal:
            connection.metrics.failed_reauthentications += 1
        else:
            connection.metrics.failed_authentications += 1
        self._failures.note(connection, reason, "re-authentication" if self._is_renewal else "authentication")

        def end() -> None:
            if before_close is None:
                connection.close(reason)
            else:
                before_close()
                self._close_when_answered(reason, LOGIN_S)

        connection.mute()
        if delay_s:
            self._deadline = self._loop.call_later(delay_s, end)
        else:
            end()

    def _close_when_answered(self, reason: str, within_s: float) -> None:
        """Requests before a renewal may not be answered yet, and the last response leaves after theirs."""
        connection = self.connection
        if connection.unanswered and within_s > 0 and not connection.closed:
            left_s = within_s - _LOOK_S
            self._deadline = self._loop.call_later(_LOOK_S, self._close_when_answered, reason, left_s)
        else:
            connection.close(reason)

    def cancel(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Stages:
    """Begins the connections of secured listeners. requests: receives the frames of those that passed.

    waiting: those that have not passed yet.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Clock, requests: OnRequest, waiting: UnauthenticatedConnections,
        turns: LoopTurns,
    ) -> None:  # fmt: skip
        self._loop = loop
        self._requests = requests
        self._waiting = waiting
        self._failures = FailureLog(clock)
        self._short_steps = ShortSteps(turns)

    def begin(
        self, connection: Connection, transport: TlsTransport | None, security: ListenerSecurity, on_session: OnSession
    ) -> None:
        """transport: where the listener has TLS. on_session: called when its handshake is complete."""

        def log_in() -> None:
            if transport is not None:
                on_session(connection, transport.session())
            if security.begin_login is None:
                connection.stage = None
                self._waiting.discard(connection)
                connection.metrics.successful_authentications += 1
                connection.metrics.unrenewable_authentications += 1
            else:
                connection.stage = stage = LoginStage(
                    connection, transport, self._requests, self._loop, self._failures, self._waiting.discard
                )  # fmt: skip
                stage.start(security.begin_login)
            connection.start()

        if transport is None and security.begin_login is None:
            self._identify(connection, security)
            return
        leaves = self._waiting.add(connection)
        if transport is None:
            log_in()
        else:
            connection.stage = stage = HandshakeStage(
                connection, transport, security, self._handshake(transport, security), self._failures, log_in
            )
            stage.start()
        if leaves is not None and leaves in self._waiting:  # what had arrived of it may have logged it in
            self._turn_out(leaves)

    def _handshake(self, transport: TlsTransport, security: ListenerSecurity) -> Handshake:
        return Handshake(
            transport, self._loop, security.executor, is_server=True, short_steps=self._short_steps,
            is_short=security.is_short,
        )  # fmt: skip

    def _turn_out(self, connection: Connection) -> None:
        reason = f"more than {self._waiting.most} connections had not authenticated yet"
        if not (isinstance(connection.stage, LoginStage) and connection.stage.has_failed):  # it is counted once
            connection.metrics.failed_authentications += 1
            self._failures.note(connection, reason)
        connection.close(reason)

    def ended(self, connection: Connection) -> None:
        """A connection was closed, by whomever. What it had to pass refers to it, and so nothing may refer to that."""
        if connection.stage is not None:
            connection.stage.cancel()
            connection.stage = None
            self._waiting.discard(connection)
        connection.on_request = self._requests

    def _identify(self, connection: Connection, security: ListenerSecurity) -> None:
        """Nothing is asked of the client: what is known of its connection says who it is."""
        try:
            connection.principal = security.principal_of(connection, None)
        except ValueError as error:
            connection.metrics.failed_authentications += 1
            self._failures.note(connection, str(error))
            connection.close(str(error))
            return
        connection.start()
