"""Sessions of browsers: kept in memory, found by the random id in a cookie, ended by time or logout."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.manager.identity.roles import WebUser

MOST_SESSIONS = 2_000
"""The one that was unused for longest is dropped for one more."""


def new_token(chance: Chance) -> str:
    """256 random bits as text."""
    return f"{chance.number(0, (1 << 256) - 1):064x}"


@dataclass(slots=True)
class BrowserSession:
    """csrf_token: what a form of this session must contain. notices: sentences for the next page, shown once.

    longest_ms: it ends after this. id_token: of the login by a provider, which ends its own session by it.
    """

    key: str
    user: WebUser
    csrf_token: str
    opened_ms: float
    used_ms: float
    longest_ms: int
    id_token: str = field(default="", repr=False)
    notices: list[str] = field(default_factory=list)


class BrowserSessions:
    """All sessions. idle_ms: an unused session ends after this; longest_ms: every session ends after this."""

    def __init__(self, clock: Clock, chance: Chance, *, idle_ms: int, longest_ms: int) -> None:
        self._clock = clock
        self._chance = chance
        self._idle_ms = idle_ms
        self._longest_ms = longest_ms
        self._sessions: OrderedDict[str, BrowserSession] = OrderedDict()
        """The one used last is the last."""

    def open(self, user: WebUser, *, longest_ms: int = 0, id_token: str = "") -> BrowserSession:
        """A new session with an id that was never used before. longest_ms: 0 for that of all sessions, else at most so
        long."""
        now_ms = self._clock.monotonic_ms()
        longest_ms = min(longest_ms or self._longest_ms, self._longest_ms)
        session = BrowserSession(
            new_token(self._chance), user, new_token(self._chance), now_ms, now_ms, longest_ms, id_token
        )
        self._sessions[session.key] = session
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def find(self, key: str) -> BrowserSession | None:
        """The session of a cookie; None for one that has ended or never existed. Counts as use."""
        if not self.is_open(key):
            self._sessions.pop(key, None)
            return None
        session = self._sessions[key]
        session.used_ms = self._clock.monotonic_ms()
        self._sessions.move_to_end(key)
        return session

    def is_open(self, key: str) -> bool:
        """Whether the session has not ended. Does not count as use."""
        session, now_ms = self._sessions.get(key), self._clock.monotonic_ms()
        return session is not None and (
            now_ms - session.used_ms <= self._idle_ms and now_ms - session.opened_ms <= session.longest_ms
        )

    def close(self, key: str) -> None:
        """Ends a session."""
        self._sessions.pop(key, None)
