"""The present keys of a provider: fetched when they are first needed, when they are old, and for an unknown key id.

One attempt at a time, for all who wait. While the provider cannot be reached the keys that are there are used. Tokens
with invented key ids cause an attempt every few seconds at most, and the ids are kept in mind for a while.
Source: KIP-768.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import NamedTuple, Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.texts import one_line
from kafka_py.security.sasl.oauth.places import Unreadable
from kafka_py.security.sasl.oauth.signed_tokens import KeySet, parse_keys

_log = logging.getLogger(__name__)

_MOST_MISSING = 256


class KeysUnavailable(Exception):
    """There are no keys, because they have never been fetched."""


class KeyPlace(Protocol):
    """Where keys are; places.py has it for files and URLs."""

    def read(self) -> bytes:
        """Blocks. Raises Unreadable."""
        ...

    def stamp(self) -> object:
        """Another one when the keys have certainly changed."""
        ...


class KeyRefresh(NamedTuple):
    """When keys are fetched.

    patience_ms: so long a login waits for fresh keys where there are older ones. least_ms: from one attempt to the next
    that a key id causes. missing_ms: so long an id without key causes no other one.
    """

    refresh_ms: int = 3_600_000
    backoff_ms: int = 100
    most_backoff_ms: int = 10_000
    patience_ms: int = 2_000
    least_ms: int = 5_000
    missing_ms: int = 60_000


class ProviderKeys:
    """Keys at one place. name: of it, for the log."""

    def __init__(self, name: str, place: KeyPlace, rules: KeyRefresh, clock: Clock) -> None:
        self._name = name
        self._place = place
        self._rules = rules
        self._clock = clock
        self._keys: KeySet | None = None
        self._stamp: object = None
        self._fault = ""
        self._failures = 0
        self._began_ms = -math.inf  # the last attempt, whatever came of it
        self._fresh_ms = -math.inf  # the last one that brought keys
        self._missing: dict[str, float] = {}  # key id -> until when it causes no attempt
        self._attempt: asyncio.Task[None] | None = None

    async def for_key(self, key_id: str | None) -> KeySet:
        """The keys, with this one among them if the provider has it. Raises KeysUnavailable."""
        now_ms = self._clock.monotonic_ms()
        if self._keys is None:
            await self._wait(self._refreshing())
            if self._keys is None:
                raise KeysUnavailable(self._fault)
        elif now_ms - self._fresh_ms >= self._rules.refresh_ms or self._place.stamp() != self._stamp:
            attempt = self._refreshing()
            if not self._failures:
                await self._wait(attempt, self._rules.patience_ms / 1000)
        if key_id is not None and not self._keys.has(key_id) and self._missing.get(key_id, 0.0) <= now_ms:
            await self._look_for(key_id, now_ms)
        return self._keys

    async def _look_for(self, key_id: str, asked_ms: float) -> None:
        """Waits for an attempt that begins after `asked_ms`, unless the key is there before."""
        while self._began_ms < asked_ms and self._keys is not None and not self._keys.has(key_id):
            await self._wait(self._refreshing(self._rules.least_ms))
        if self._fresh_ms >= asked_ms and self._keys is not None and not self._keys.has(key_id):
            if len(self._missing) >= _MOST_MISSING:
                del self._missing[next(iter(self._missing))]
            self._missing[key_id] = self._clock.monotonic_ms() + self._rules.missing_ms

    def _refreshing(self, least_ms: float = 0.0) -> asyncio.Task[None]:
        """The attempt that is being made or will be made next; at least so long after the one before."""
        if self._attempt is None:
            after_failure = self._rules.backoff_ms * 2 ** min(self._failures - 1, 20) if self._failures else 0
            wait_ms = max(min(after_failure, self._rules.most_backoff_ms), least_ms)
            due_ms = self._began_ms + wait_ms
            self._attempt = asyncio.get_running_loop().create_task(self._refresh(due_ms))
        return self._attempt

    @staticmethod
    async def _wait(attempt: asyncio.Task[None], timeout_s: float | None = None) -> None:
        """The attempt itself goes on when whoever waits for it is cancelled."""
        await asyncio.wait([attempt], timeout=timeout_s)

    async def _refresh(self, due_ms: float) -> None:
        try:
            if (wait_ms := due_ms - self._clock.monotonic_ms()) > 0:
                await asyncio.sleep(wait_ms / 1000)
            self._began_ms = began_ms = self._clock.monotonic_ms()
            stamp, keys = await asyncio.get_running_loop().run_in_executor(None, self._load)
        except Exception as error:
            self._failures += 1
            self._fault = one_line(f"{self._name}: {error}", 500)
            more = "" if self._keys is None else "; the present ones are used"
            is_foreseen = isinstance(error, (Unreadable, ValueError))
            _log.error("Keys for signed tokens cannot be had from %s%s", self._fault, more, exc_info=not is_foreseen)
        else:
            self._take(keys, stamp, began_ms)
        finally:
            self._attempt = None

    def _load(self) -> tuple[object, KeySet]:
        """Blocks. The stamp is from before, so that a later change is not overlooked."""
        return self._place.stamp(), parse_keys(self._place.read())

    def _take(self, keys: KeySet, stamp: object, began_ms: float) -> None:
        if keys != self._keys:
            ids = ", ".join(each.key_id or "(without id)" for each in keys.keys)
            left_out = f"; left out: {'; '.join(keys.left_out)}" if keys.left_out else ""
            _log.info("Keys for signed tokens from %s: %s%s", self._name, one_line(ids, 500), one_line(left_out, 500))
        self._keys, self._stamp, self._fresh_ms, self._failures = keys, stamp, began_ms, 0
        self._missing = {each: until for each, until in self._missing.items() if not keys.has(each)}
