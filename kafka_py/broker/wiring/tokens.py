"""The delegation tokens of a broker: kept if there is a secret for them, and swept while it is the controller (I/O).

What they need is imported if there is one: other brokers start without it.
Source: docs/reference/security/tokens.md, sections 1 and 4; KIP-48; KafkaController.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.supervision import Periodic, Schedule, Supervisor
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.zk.session import ZkError
from kafka_py.zk.tokens import TokenStore

if TYPE_CHECKING:
    from kafka_py.security.sasl.scram import Derivation, ScramUser
    from kafka_py.security.tokens.token_keeper import TokenKeeper

_log = logging.getLogger(__name__)

_SWEEP = "removal of expired delegation tokens"


def token_secret(config: BrokerConfig) -> str:
    """The secret for tokens; empty: the broker has none, and no tokens."""
    newer = config.delegation_token_secret_key
    return (config.delegation_token_master_key if newer is None else newer) or ""


class BrokerTokens:
    """keeper: of the tokens; None on a broker without a secret for them."""

    def __init__(
        self, config: BrokerConfig, store: TokenStore, clock: Clock, chance: Chance, supervisor: Supervisor,
        schedule: Schedule,
    ) -> None:  # fmt: skip
        self.keeper: TokenKeeper | None = None
        self._supervisor = supervisor
        self._schedule = schedule
        self._interval_ms = config.delegation_token_expiry_check_interval_ms
        self._sweeps: Periodic | None = None
        self._last_sweep: asyncio.Task[None] | None = None
        secret = token_secret(config)
        if secret:
            from kafka_py.security.tokens.delegation_tokens import Lifetimes
            from kafka_py.security.tokens.token_keeper import TokenKeeper

            lifetimes = Lifetimes(config.delegation_token_max_lifetime_ms, config.delegation_token_expiry_time_ms)
            self.keeper = TokenKeeper(store, secret, lifetimes, clock, chance, supervisor)

    def find_login(self, mechanism: str, token_id: str) -> ScramUser | Derivation | None:
        """The owner of the token of that id."""
        return None if self.keeper is None else self.keeper.index.find_login(mechanism, token_id)

    async def start(self) -> None:
        if self.keeper is not None:
            await self.keeper.start()

    async def close(self) -> None:
        self.control(False)
        if self.keeper is not None:
            await self.keeper.close()

    def control(self, is_controller: bool) -> None:
        """The broker has become the controller, which removes expired tokens now and then, or is it no longer."""
        if self._sweeps is not None:
            self._sweeps.cancel()
            self._sweeps = None
        if is_controller and self.keeper is not None:
            sweep = partial(self._begin_sweep, self.keeper)
            self._sweeps = self._supervisor.every(self._schedule, self._interval_ms, sweep, _SWEEP, delay_ms=0)

    def _begin_sweep(self, keeper: TokenKeeper) -> None:
        """Unless the last one still waits for ZooKeeper."""
        if self._last_sweep is None or self._last_sweep.done():
            self._last_sweep = self._supervisor.spawn(_sweep(keeper), _SWEEP)


async def _sweep(keeper: TokenKeeper) -> None:
    try:
        await keeper.remove_expired()
    except ZkError as error:
        _log.warning("Expired delegation tokens were not removed, which the next attempt does: %s", error)
