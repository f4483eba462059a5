"""The logins of one broker: the users that it knows, what its listeners ask of clients, and its own logins (I/O).

Source: KIP-43, KIP-84, KIP-103 (settings by listener); SaslChannelBuilder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.broker.wiring.tls import BrokerTls
from kafka_py.net.connection import Connection
from kafka_py.net.endpoints import Endpoint, SecurityProtocol, listening_of
from kafka_py.net.secured.client_security import ConnectionSecurity, LogIn
from kafka_py.net.secured.stages import BeginLogin, ListenerSecurity, anonymous
from kafka_py.security.sasl.client_settings import RefreshRules, Secrets, client_login
from kafka_py.security.sasl.jaas import server_modules
from kafka_py.security.sasl.scram_users import ScramUsers
from kafka_py.security.sasl.server_exchange import LoginAnswers, LoginRules
from kafka_py.security.sasl.server_login import LoginHost
from kafka_py.security.sasl.server_settings import (
    MODULES,
    ListenerSettings,
    LoginSources,
    enabled_mechanisms,
    login_rules,
)
from kafka_py.zk.config_znodes import DEFAULT_ENTITY
from kafka_py.zk.entity_configs import ConfigStore

_SASL = (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)
_CALLBACK_THREADS = 4
"""For callbacks of users, which may block; so many logins can wait for one at the same time."""


class BrokerLogins:
    """What a broker knows about who may log in. users: those with SCRAM credentials, which follow ZooKeeper.

    tls: of the listeners that have it. answers: makes what answers the requests before a login, for one connection.
    """

    def __init__(
        self, config: BrokerConfig, outside: ServerEnvironment, answers: Callable[[Connection], LoginAnswers]
    ) -> None:
        self.users = ScramUsers()
        self.tls = BrokerTls()
        self._answers = answers
        self._config = config
        self._outside = outside
        self._sources = LoginSources(self.users, outside.chance, outside.clock, outside.login_sections)
        self._rules: dict[str, LoginRules] = {}
        self._own: dict[str, LogIn] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._has_users = False

    async def load(self, _stored: ConfigStore, users: Mapping[str, Mapping[str, str]]) -> None:
        """Takes over the credentials of all users.

        At the start one that cannot be read raises ConfigError. Later, where changes were missed, it is logged, and
        credentials that are no longer there are deleted here too.
        """
        take_over = self.users.change if self._has_users else self.users.load
        for name, settings in users.items():
            if name != DEFAULT_ENTITY:
                take_over(name, settings)
        self._has_users = True

    def reconfigure(self, config: BrokerConfig) -> None:
        """Takes over settings, at the start and when they change. Raises ConfigError, and changes nothing then."""
        listening = listening_of(config)
        protected = [each.listener_name for each in listening.listeners if each.security_protocol in _SASL]
        rules = {name: login_rules(ListenerSettings(config.originals, name), self._sources) for name in protected}
        between = [listening.inter_broker_listener, listening.control_plane_listener]
        own = {name: self._own_login(config, name) for name in between if name in protected and name is not None}
        self.tls.reconfigure(config)
        self._config, self._rules, self._own = config, rules, own

    async def check_stores(self, config: BrokerConfig) -> None:
        """Whether listeners may have the key and trust stores of these settings. Raises ConfigError."""
        if self.tls.is_used:  # in a thread: passwords of stores are hashed many times
            await asyncio.get_running_loop().run_in_executor(self.tls.executor(), self.tls.check, config)

    async def reload(self, config: BrokerConfig) -> None:
        """Takes over settings, or files of stores, that have changed. Raises ConfigError, and changes nothing then."""
        if self.tls.is_used:
            await asyncio.get_running_loop().run_in_executor(self.tls.executor(), self.reconfigure, config)
        else:
            self.reconfigure(config)

    # ---- clients of this broker

    def security_of(self, endpoint: Endpoint) -> ListenerSecurity | None:
        """How the connections of a listener are protected; None for a plain one."""
        begin = self.begin(endpoint.listener_name)
        tls = self.tls.listener(endpoint.listener_name)
        if tls is None:
            return None if begin is None else ListenerSecurity(begin_login=begin)
        who = tls.principal_of if begin is None else anonymous
        return ListenerSecurity(tls.accept, who, begin, self.tls.executor())

    def begin(self, listener: str) -> BeginLogin | None:
        """What begins the logins of a listener's connections; None for one without logins."""
        if listener not in self._rules:
            return None
        return LoginHost(
            lambda: self._rules[listener],
            self._answers,
            self._outside.clock,
            lambda: self._config.connection_failed_authentication_delay_ms,
            self._callbacks,
            self._config.sasl_server_max_receive_size,
        ).begin

    def _callbacks(self) -> Executor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(_CALLBACK_THREADS, "kafka-login")
        return self._executor

    def close(self) -> None:
        self.tls.close()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    # ---- this broker as a client

    def security_to(self, listener: str) -> ConnectionSecurity:
        """How connections to that listener of other brokers are protected."""
        tls = self.tls.listener(listener)
        log_in = self.own_login(listener)
        if tls is None:
            return ConnectionSecurity(log_in=log_in)
        return ConnectionSecurity(tls.connect_to, log_in, self.tls.executor())

    def own_login(self, listener: str) -> LogIn | None:
        """How this broker logs in at a listener of other brokers; None where that has no logins."""
        if listener not in self._own:
            return None

        async def log_in(wire: object) -> float | None:
            return await self._own[listener](wire)  # type: ignore[arg-type]  # the present one, after a change as well

        return log_in

    def _own_login(self, config: BrokerConfig, listener: str) -> LogIn:
        """Raises ConfigError."""
        settings = ListenerSettings(config.originals, listener)
        mechanism = settings.text("sasl.mechanism.inter.broker.protocol") or "GSSAPI"
        if mechanism not in enabled_mechanisms(settings):
            raise ConfigError(
                f"sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms of listener "
                f"{listener}, which do not have {mechanism}"
            )
        entries = server_modules(config.originals, listener, mechanism, self._outside.login_sections)
        entry = next((each for each in entries if each.module == MODULES[mechanism]), entries[0])
        secrets = Secrets(self._outside.chance, self._outside.clock)
        callback = settings.found("sasl.login.callback.handler.class", mechanism)
        return client_login(mechanism, entry, secrets, callback, refresh_rules(config.originals))


def refresh_rules(properties: Mapping[str, object]) -> RefreshRules:
    """When tokens are replaced. Raises ConfigError."""
    table = BrokerConfig.ROWS
    names = ("window.factor", "window.jitter", "min.period.seconds", "buffer.seconds")
    rows = [table[f"sasl.login.refresh.{name}"] for name in names]
    return RefreshRules(*(row.parse(properties[row.name]) if row.name in properties else row.default for row in rows))
