"""Base of every kind of session: state, listeners, and renewal after an expiry with its hooks.

Knows no client: a subclass opens sessions. Source: docs/reference/zookeeper.md, section 3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from kafka_py.base.clock import Clock
from kafka_py.base.moves import moves_between
from kafka_py.base.supervision import Supervisor
from kafka_py.zk.session import AuthFailed, Hook, SessionClosed, SessionExpired, SessionState, StateListener
from kafka_py.zk.watches import WatchTable

_log = logging.getLogger(__name__)

CONNECTING, CONNECTED, SUSPENDED = SessionState.CONNECTING, SessionState.CONNECTED, SessionState.SUSPENDED
EXPIRED, AUTH_FAILED, CLOSED = SessionState.EXPIRED, SessionState.AUTH_FAILED, SessionState.CLOSED

MOVES = moves_between(
    "ZooKeeper session",
    {
        CONNECTING: (CONNECTED, AUTH_FAILED, CLOSED),
        CONNECTED: (SUSPENDED, EXPIRED, AUTH_FAILED, CLOSED),
        SUSPENDED: (CONNECTED, EXPIRED, AUTH_FAILED, CLOSED),
        EXPIRED: (CONNECTING, CLOSED),
        AUTH_FAILED: (CONNECTING, CLOSED),
    },
)

_LOUDNESS = {
    CONNECTING: logging.INFO,
    CONNECTED: logging.INFO,
    SUSPENDED: logging.WARNING,
    EXPIRED: logging.WARNING,
    AUTH_FAILED: logging.ERROR,
    CLOSED: logging.INFO,
}

_ACTIVITY = "ZooKeeper session"
RENEWAL_PAUSE_S = 1.0
"""Pause between attempts to open a new session, and after a failed authentication."""


class SessionLifecycle:
    """State, listeners, hooks, watches. A subclass calls `_become` and implements `_open`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._state = CONNECTING
        self._listeners: list[StateListener] = []
        self._before: list[Hook] = []
        self._after: list[Hook] = []
        self._supervisor = Supervisor(clock)
        self._renewing = asyncio.Lock()
        self._watches = WatchTable()
        self._report_latency: Callable[[float], None] | None = None
        self._report_login: Callable[[], None] | None = None

    @property
    def state(self) -> SessionState:
        return self._state

    def add_listener(self, listener: StateListener) -> None:
        self._listeners.append(listener)

    def remove_listener(self, listener: StateListener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def add_expiry_hooks(self, *, before: Hook | None = None, after: Hook | None = None) -> None:
        self._before += [before] if before is not None else []
        self._after += [after] if after is not None else []

    def report_latency(self, report: Callable[[float], None]) -> None:
        self._report_latency = report

    def report_logins(self, report: Callable[[], None]) -> None:
        self._report_login = report

    def supervise(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor.child()

    def _become(self, state: SessionState) -> None:
        """Changes the state, calls the listeners, and renews the session if it has ended."""
        previous, self._state = self._state, MOVES.after(self._state, state)
        _log.log(_LOUDNESS[state], "ZooKeeper session: %s", state.value)
        for listener in list(self._listeners):
            with self._supervisor.guard(_ACTIVITY, f"a listener on {state.value}"):
                listener(state)
        if state in (EXPIRED, AUTH_FAILED):
            self._watches.clear()
            if previous is not CONNECTING or state is EXPIRED:
                self._start_renewal()

    def _start_renewal(self) -> None:
        self._supervisor.spawn(self._renew(), _ACTIVITY, "renewal")

    async def _renew(self) -> None:
        async with self._renewing:
            if self._state is AUTH_FAILED:
                await asyncio.sleep(RENEWAL_PAUSE_S)
            await self._run(self._before)
            if self._state is CLOSED:
                return
            while not await self._try_to_open():  # noqa: ASYNC110 (each call is an attempt, not a poll)
                await asyncio.sleep(RENEWAL_PAUSE_S)
            if self._state is CLOSED:
                return
            _log.info("a new session has replaced the expired one")
            await self._run(self._after)

    async def _try_to_open(self) -> bool:
        """Tries once; False if it must be retried. Retries are unlimited, because a broker needs a session."""
        if self._state in (EXPIRED, AUTH_FAILED):
            self._become(CONNECTING)
        try:
            await self._open()
        except SessionClosed:
            return True
        except AuthFailed:
            return False
        except Exception as error:
            self._supervisor.report(_ACTIVITY, error, "renewal")
            return self._state is CLOSED
        return True

    async def _run(self, hooks: Iterable[Hook]) -> None:
        for hook in list(hooks):
            with self._supervisor.guard(_ACTIVITY, "a hook"):
                await hook()

    async def _open(self) -> None:
        """Opens a session and returns when it is connected; without a time limit."""
        raise TypeError(f"{type(self).__name__} does not open sessions")

    def _stop_renewals(self) -> None:
        self._supervisor.cancel()

    def _refuse_if_lost(self) -> None:
        """Raises the error of a request in the states in which it cannot wait."""
        if self._state is EXPIRED:
            raise SessionExpired()
        if self._state is AUTH_FAILED:
            raise AuthFailed()
        if self._state is CLOSED:
            raise SessionClosed()
