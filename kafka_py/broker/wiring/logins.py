"""The logins of one broker: the users that it knows, and how connections are protected, its own ones too (I/O).

What TLS and SASL need is imported with the first listener that has them: plain brokers start without it.
Source: KIP-43, KIP-84, KIP-103 (settings by listener); SaslChannelBuilder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_py.base.errors import ConfigError
from kafka_py.base.turns import sliced
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.net.connection import Connection
from kafka_py.net.endpoints import Endpoint, listening_of
from kafka_py.net.principal import Principal
from kafka_py.net.secured.client_security import ConnectionSecurity
from kafka_py.net.secured.stages import ListenerSecurity, anonymous
from kafka_py.security.principal_builder import DEFAULT_BUILDER, SETTING, Authenticated, BuildPrincipal, load_builder
from kafka_py.security.sasl.scram_users import ScramUsers
from kafka_py.zk.config_znodes import DEFAULT_ENTITY
from kafka_py.zk.entity_configs import ConfigStore

if TYPE_CHECKING:
    from kafka_py.broker.wiring.sasl import BrokerSasl
    from kafka_py.broker.wiring.tls import BrokerTls
    from kafka_py.security.sasl.server_exchange import LoginAnswers
    from kafka_py.security.tls.listener_tls import ListenerTls


class BrokerLogins:
    """What a broker knows about who may log in. users: those with SCRAM credentials, which follow ZooKeeper.

    tls, sasl: of the listeners that have it; None until there is one. answers: makes what answers the requests before a
    login, for one connection.
    """

    def __init__(self, outside: ServerEnvironment, answers: Callable[[Connection], LoginAnswers]) -> None:
        self.users = ScramUsers()
        self.tls: BrokerTls | None = None
        self.sasl: BrokerSasl | None = None
        self._builders: Mapping[str, BuildPrincipal] = {}
        self._answers = answers
        self._outside = outside
        self._has_users = False

    async def load(self, _stored: ConfigStore, users: Mapping[str, Mapping[str, str]]) -> None:
        """Takes over the credentials of all users.

        At the start one that cannot be read raises ConfigError. Later, where changes were missed, it is logged, and
        credentials that are no longer there are deleted here too.
        """
        take_over = self.users.change if self._has_users else self.users.load
        gone = [name for name in self.users.names() if name not in users]
        async for some in sliced(users.items()):
            for name, settings in some:
                if name != DEFAULT_ENTITY:
                    take_over(name, settings)
        for name in gone:
            self.users.change(name, {})
        self._has_users = True

    def reconfigure(self, config: BrokerConfig) -> None:
        """Takes over settings, at the start and when they change. Raises ConfigError, and changes nothing then."""
        listening = listening_of(config)
        protocols = {each.security_protocol for each in listening.listeners}
        if self.sasl is None and any(each.has_sasl for each in protocols):
            from kafka_py.broker.wiring.sasl import BrokerSasl

            self.sasl = BrokerSasl(config, self.users, self._outside, self._answers, self._builder_of)
        if self.tls is None and any(each.has_tls for each in protocols):
            from kafka_py.broker.wiring.tls import BrokerTls

            self.tls = BrokerTls()
        builders = {each.listener_name: self._builder(config, each.listener_name) for each in listening.listeners}
        made = None if self.sasl is None else self.sasl.made(config, listening)
        if self.tls is not None:
            self.tls.reconfigure(config)
        # at once: this may run in a thread, while clients log in
        self._builders = {name: build for name, build in builders.items() if build is not None}
        if self.sasl is not None and made is not None:
            self.sasl.take(config, made)

    def _builder_of(self, listener: str) -> BuildPrincipal | None:
        """The present one."""
        return self._builders.get(listener)

    def _builder(self, config: BrokerConfig, listener: str) -> BuildPrincipal | None:
        """What names the principals of a listener; None where the broker itself does. Raises ConfigError."""
        own = f"listener.name.{listener.lower()}.{SETTING}"
        setting = own if own in config.originals else SETTING
        name = str(config.originals.get(setting) or "").strip()
        if name in ("", DEFAULT_BUILDER) or not config.is_enforced(setting):
            return None
        return self._builders.get(listener) or load_builder(setting, name, config.originals)

    async def check_stores(self, config: BrokerConfig) -> None:
        """Whether listeners may have the key and trust stores of these settings. Raises ConfigError."""
        if self.tls is None and not any(each.security_protocol.has_tls for each in listening_of(config).listeners):
            return
        from kafka_py.broker.wiring.tls import BrokerTls

        tls, executor = (BrokerTls(), None) if self.tls is None else (self.tls, self.tls.executor())
        # in a thread: passwords of stores are hashed many times
        await asyncio.get_running_loop().run_in_executor(executor, tls.check, config)

    async def reload(self, config: BrokerConfig) -> None:
        """Takes over settings, or files of stores, that have changed. Raises ConfigError, and changes nothing then."""
        if self.tls is not None:
            await asyncio.get_running_loop().run_in_executor(self.tls.executor(), self.reconfigure, config)
        else:
            self.reconfigure(config)

    def close(self) -> None:
        for each in (self.tls, self.sasl):
            if each is not None:
                each.close()

    # ---- connections

    def security_of(self, endpoint: Endpoint) -> ListenerSecurity | None:
        """How the connections of a listener are protected; None for a plain one. Raises ConfigError."""
        name, protocol = endpoint.listener_name, endpoint.security_protocol
        begin = None if self.sasl is None else self.sasl.begin(name)
        tls = None if self.tls is None else self.tls.listener(name)
        if (protocol.has_tls and tls is None) or (protocol.has_sasl and begin is None):
            raise ConfigError(f"listener {name} is of {protocol.name}, whose settings were not taken over")
        build = self._builder_of(name)
        if begin is None and build is not None:
            who = _built(build)
        elif begin is None and tls is not None:
            who = _by_certificate(tls)
        elif begin is None:
            return None
        else:
            who = anonymous  # until the login
        if self.tls is None or tls is None:
            return ListenerSecurity(None, who, begin)
        return ListenerSecurity(tls.accept, who, begin, self.tls.executor(), tls.is_short)

    def security_to(self, listener: str) -> ConnectionSecurity:
        """How this broker's connections to that listener of other brokers are protected."""
        log_in = None if self.sasl is None else self.sasl.own_login(listener)
        tls = None if self.tls is None else self.tls.listener(listener)
        if self.tls is None or tls is None:
            return ConnectionSecurity(log_in=log_in)
        return ConnectionSecurity(tls.connect_to, log_in, self.tls.executor())


PrincipalOf = Callable[[Connection, bytes | None], Principal]


def _by_certificate(tls: ListenerTls) -> PrincipalOf:
    return lambda _connection, certificate: tls.principal_of(certificate)


def _built(build: BuildPrincipal) -> PrincipalOf:
    """By an operator's class, on a listener without logins."""

    def principal_of(connection: Connection, certificate: bytes | None) -> Principal:
        protocol, listener = connection.security_protocol.name, connection.listener_name
        return build(Authenticated(protocol, listener, connection.peer_host, certificate, None))

    return principal_of
