"""The login of one connection to the broker, and the session that follows it (I/O).

Frames go to the exchange (server_exchange.py) until it is complete. A session without end then costs nothing: the
broker's requests get the frames themselves. One with an end (KIP-368) looks at the clock before each request, and at
a handshake, with which the client renews the session.
Source: KIP-152, KIP-368; SaslServerAuthenticator, KafkaChannel.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.net.connection import Connection, OnRequest
from kafka_py.net.secured.stages import LoginStage
from kafka_py.security.sasl.mechanisms import Work
from kafka_py.security.sasl.server_exchange import (
    LoginAnswers,
    LoginOutcome,
    LoginRules,
    LoginSession,
    Next,
    ServerExchange,
)
from kafka_py.wire.apis import ApiKey

_log = logging.getLogger(__name__)

LEAST_RENEWAL_MS = 1000
"""From the beginning of one renewal of a session to that of the next; the first may begin right after the login."""
_HANDSHAKE = int(ApiKey.SASL_HANDSHAKE).to_bytes(2, "big")


@dataclass(frozen=True, slots=True)
class LoginHost:
    """What the logins of a listener share.

    rules: the present ones for a connection, asked for at each login. answers: to requests of one connection.
    delay_ms: the present delay after failures. executor: runs callbacks that may block. max_bytes: of a request during
    a login.
    """

    rules: Callable[[LoginStage], LoginRules]
    answers: Callable[[Connection], LoginAnswers]
    clock: Clock
    delay_ms: Callable[[], float]
    executor: Callable[[], Executor]
    max_bytes: int

    def begin(self, stage: LoginStage) -> OnRequest:
        """The receiver of a new connection's frames."""
        return ServerLogin(stage, self).on_request


class ServerLogin:
    """One connection's login; afterwards its session, if that has an end."""

    def __init__(self, stage: LoginStage, host: LoginHost) -> None:
        self._stage = stage
        self._host = host
        self._answers = host.answers(stage.connection)
        self._exchange = ServerExchange(host.rules(stage), self._answers)
        self._session: LoginSession | None = None
        self._renewed_ms = -math.inf  # when the last renewal began
        self._ends_ms = 0.0
        self._task: asyncio.Task[None] | None = None
        stage.failure_delay_s = lambda: host.delay_ms() / 1000
        stage.connection.limit_frames(host.max_bytes)

    # ---- login

    def on_request(self, connection: Connection, slot: int, frame: bytearray) -> None:
        """A frame that belongs to the login."""
        self._carry_out(slot, self._exchange.take(frame, self._host.clock.wall_ms()))

    def _carry_out(self, slot: int, outcome: LoginOutcome) -> None:
        connection = self._stage.connection
        if outcome.next is Next.WORK:
            assert outcome.work is not None
            connection.mute()
            self._task = asyncio.get_running_loop().create_task(self._work(slot, outcome.work))
            return
        if outcome.reply is not None:
            connection.respond(slot, outcome.reply or None)
        if outcome.next is Next.COMPLETE:
            assert outcome.session is not None
            self._succeed(outcome.session)
        elif outcome.next is Next.CLOSE:
            _log.debug("%r: %s", connection, outcome.reason)
            connection.close(outcome.reason)
        elif outcome.next is Next.FAIL:
            last = outcome.last_reply
            before_close = None if last is None else lambda: connection.respond(slot, last)
            self._stage.fail(outcome.reason, self._stage.failure_delay_s(), before_close)

    async def _work(self, slot: int, work: Work) -> None:
        """Runs a callback; while it runs nothing more is read."""
        connection = self._stage.connection
        try:
            outcome = self._exchange.resume(await self._result(work), self._host.clock.wall_ms())
        except Exception:
            _log.exception("%r: the login ended unforeseen", connection)
            connection.close("the login ended unforeseen")
            return
        if not (connection.closed or self._stage.has_failed):  # malformed bytes may have come behind the request
            self._carry_out(slot, outcome)
            connection.unmute()

    async def _result(self, work: Work) -> Callable[[], Any]:
        """What continues the exchange."""
        loop = asyncio.get_running_loop()
        try:
            value = await loop.run_in_executor(self._host.executor(), work.call)
            if hasattr(value, "__await__"):
                value = await value
        except Exception as error:
            failure = work.failed(error)
            _log.warning("%r: a callback of the login failed: %s", self._stage.connection, type(error).__name__)

            def fail() -> Any:
                raise failure

            return fail
        return lambda: work.then(value)

    # ---- session

    def _succeed(self, session: LoginSession) -> None:
        connection, now_ms = self._stage.connection, self._host.clock.monotonic_ms()
        if self._exchange.renews:
            connection.metrics.reauthentication_latency.update(max(1, round(now_ms - self._renewed_ms)))
        elif not session.can_renew:
            connection.metrics.unrenewable_authentications += 1
        self._stage.succeed(session.principal)
        if session.lifetime_ms > 0 or self._host_limits(session):
            self._session = session
            self._ends_ms = now_ms + session.lifetime_ms
            connection.on_request = self.on_session_request

    def _host_limits(self, session: LoginSession) -> bool:
        """Whether sessions end, so that a lifetime of 0 means one that is over."""
        return self._host.rules(self._stage).max_session_ms.get(session.mechanism, 0) > 0

    def on_session_request(self, connection: Connection, slot: int, frame: bytearray) -> None:
        """A request in a session that ends."""
        now_ms = self._host.clock.monotonic_ms()
        if frame[:2] == _HANDSHAKE and now_ms - self._renewed_ms >= LEAST_RENEWAL_MS:
            self._renewed_ms = now_ms
            self._exchange = ServerExchange(self._host.rules(self._stage), self._answers, self._session)
            self._stage.begin_again(self.on_request)
            connection.limit_frames(self._host.max_bytes)
            self.on_request(connection, slot, frame)
        elif now_ms > self._ends_ms:
            connection.metrics.expired_connections += 1
            connection.close("its session is over, and was not renewed")
        else:
            self._stage.requests(connection, slot, frame)
