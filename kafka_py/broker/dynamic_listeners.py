"""The listeners of a broker, which may change at run time, and its addresses in ZooKeeper (I/O).

Source: DynamicListenerConfig; KIP-226.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence

from kafka_py.base.errors import ConfigError
from kafka_py.base.supervision import Supervisor
from kafka_py.broker.registration import Registration
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.endpoints import Endpoint, listening_of
from kafka_py.net.listener import BindFailed
from kafka_py.net.socket_server import SocketServer
from kafka_py.zk.session import ZkError

_log = logging.getLogger(__name__)


class DynamicListeners:
    """The current listeners. ports: by listener name, after the sockets are bound."""

    def __init__(self, config: BrokerConfig, supervisor: Supervisor) -> None:
        self.listening = listening_of(config)
        self.ports: dict[str, int] = {}
        self._supervisor = supervisor

    def read(self, config: BrokerConfig) -> None:
        """Reads the settings, before any socket is bound."""
        self.listening = listening_of(config)

    def bind(self, sockets: SocketServer) -> None:
        """Binds the sockets. Raises BindFailed."""
        self.ports = sockets.bind()

    def advertised(self) -> list[Endpoint]:
        """The advertised listeners."""
        return self.listening.advertise(self.ports, socket.getfqdn())

    def relisten(self, sockets: SocketServer, registration: Registration, config: BrokerConfig) -> None:
        """Changes the listeners, and updates the registration in ZooKeeper. Raises ConfigError."""
        listening = listening_of(config)
        if listening == self.listening:
            return
        names = [endpoint.listener_name for endpoint in listening.listeners]
        kept = {name: port for name, port in self.ports.items() if name in names}
        try:
            self.ports = {**kept, **sockets.relisten(listening.listeners, config)}
        except BindFailed as error:
            raise ConfigError(str(error)) from None
        self.listening = listening
        self._supervisor.spawn(_advertise(registration, self.advertised()), "registration of new addresses")


async def _advertise(registration: Registration, advertised: Sequence[Endpoint]) -> None:
    try:
        await registration.advertise(advertised)
    except ZkError as error:
        _log.error("The new addresses of this broker could not be written to ZooKeeper: %s", error)
