"""This broker's registration in ZooKeeper, made at start-up and again in every new session (I/O).

Source: docs/reference/zookeeper.md, section 6.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.endpoints import Endpoint
from kafka_py.zk.brokers import BrokerStore
from kafka_py.zk.session import NodeExists
from kafka_py.zk.znodes import BrokerEndpoint, BrokerIdZNode

_log = logging.getLogger(__name__)

_NO_JMX = -1
_FORMER_LIFE_POLL_S = 0.1
# ZooKeeper may grant a longer session time-out than requested, and expires sessions only once per tick.
_EXPIRY_SLACK_S = 15.0


class Registration:
    """Registers this broker under /brokers/ids."""

    def __init__(
        self, brokers: BrokerStore, broker_id: int, advertised: Sequence[Endpoint], config: BrokerConfig, clock: Clock
    ) -> None:
        self._brokers = brokers
        self._broker_id = broker_id
        self._config = config
        self._clock = clock
        self._endpoints = _endpoints_of(advertised)

    @property
    def endpoints(self) -> list[str]:
        """The advertised listeners, in the form of `advertised.listeners`."""
        return [endpoint.text() for endpoint in self._endpoints]

    async def register_first(self) -> int:
        """Registers at start-up; returns the broker epoch.

        Waits for a registration of this broker's previous process (killed, its session not yet expired) to expire.
        Raises ConfigError when another broker has the id, or one of our addresses.
        """
        await self._brokers.refuse_taken_endpoints(self._broker_id, self._endpoints)
        deadline = self._clock.monotonic_s() + self._config.zookeeper_session_timeout_ms / 1000.0 + _EXPIRY_SLACK_S
        waited = False
        while True:
            try:
                return await self.register()
            except NodeExists:
                if not await self._is_former_life() or self._clock.monotonic_s() >= deadline:
                    raise ConfigError(
                        f"broker.id {self._broker_id} is in use: a broker with this id is registered in ZooKeeper"
                    ) from None
            if not waited:
                _log.info("Waiting for the ZooKeeper session of this broker's previous process to expire")
                waited = True
            await asyncio.sleep(_FORMER_LIFE_POLL_S)

    async def register(self) -> int:
        """Registers in the current session; returns the broker epoch. Raises NodeExists."""
        epoch = await self._brokers.register(self._broker_id, self._znode())
        listed = ", ".join(self.endpoints)
        _log.info("Broker %d is registered as %s, epoch %d", self._broker_id, listed, epoch)
        return epoch

    async def advertise(self, advertised: Sequence[Endpoint]) -> None:
        """Rewrites the registration if the advertised listeners have changed. Raises NoNode."""
        endpoints = _endpoints_of(advertised)
        if endpoints != self._endpoints:
            self._endpoints = endpoints
            await self._brokers.update(self._broker_id, self._znode())
            _log.info("Broker %d is now advertised at %s", self._broker_id, ", ".join(self.endpoints))

    def _znode(self) -> BrokerIdZNode:
        return BrokerIdZNode.of(
            self._endpoints,
            jmx_port=_NO_JMX,
            timestamp_ms=self._clock.wall_ms(),
            version=5 if self._config.inter_broker_version().at_least("2.7-IV0") else 4,
            rack=self._config.broker_rack,
        )

    async def _is_former_life(self) -> bool:
        """Whether the registration under our id has our addresses: we hold the ports, so its process has ended."""
        registered = await self._brokers.one(self._broker_id)
        if registered is None:
            return True
        return {(one.host, one.port) for one in registered.endpoints} == {
            (one.host, one.port) for one in self._endpoints
        }


def _endpoints_of(advertised: Sequence[Endpoint]) -> list[BrokerEndpoint]:
    return [
        BrokerEndpoint(endpoint.listener_name, endpoint.security_protocol.name, endpoint.host, endpoint.port)
        for endpoint in advertised
    ]
