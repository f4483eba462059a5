"""SASL of one broker: what its listeners ask of clients that log in, and its own logins at other brokers (I/O).

Source: KIP-43, KIP-84, KIP-103 (settings by listener); SaslChannelBuilder.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_INT
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.net.connection import Connection
from kafka_py.net.endpoints import Listening
from kafka_py.net.principal import Principal
from kafka_py.net.secured.client_security import LogIn
from kafka_py.net.secured.stages import BeginLogin, LoginStage
from kafka_py.security.principal_builder import Authenticated, BuildPrincipal
from kafka_py.security.sasl.client_settings import RefreshRules, Secrets, client_login
from kafka_py.security.sasl.jaas import server_modules
from kafka_py.security.sasl.kerberos_settings import KerberosRules
from kafka_py.security.sasl.mechanisms import GSSAPI, OAUTHBEARER, Identity
from kafka_py.security.sasl.oauth.options import oauth_options
from kafka_py.security.sasl.oauth.token_checks import SignedTokenChecks
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

_MOST_BYTES = "sasl.server.max.receive.size"
_CALLBACK_THREADS = 4
"""For callbacks of users, which may block; so many logins can wait for one at the same time."""


class LoginsOfListeners(NamedTuple):
    """By listener: the rules of clients' logins, how large a request during one may be, and how this broker logs in at
    other brokers."""

    rules: dict[str, LoginRules]
    most_bytes: dict[str, int]
    own: dict[str, LogIn]


class BrokerSasl:
    """The listeners with SASL; none before `take`.

    users: those with SCRAM credentials. answers: makes what answers the requests before a login, for one connection.
    builder_of: by listener, what names principals where an operator's class does.
    """

    def __init__(
        self,
        config: BrokerConfig,
        users: ScramUsers,
        outside: ServerEnvironment,
        answers: Callable[[Connection], LoginAnswers],
        builder_of: Callable[[str], BuildPrincipal | None],
    ) -> None:
        self._config = config
        self._outside = outside
        self._answers = answers
        self._builder_of = builder_of
        signed_tokens = SignedTokenChecks(outside.clock)
        self._sources = LoginSources(users, outside.chance, outside.clock, signed_tokens, outside.login_sections)
        self._present = LoginsOfListeners({}, {}, {})
        self._executor: ThreadPoolExecutor | None = None

    def made(self, config: BrokerConfig, listening: Listening) -> LoginsOfListeners:
        """What belongs to these settings, for `take`. Raises ConfigError."""
        protected = [each.listener_name for each in listening.listeners if each.security_protocol.has_sasl]
        settings = {name: ListenerSettings(config.originals, name) for name in protected}
        rules = {name: login_rules(each, self._sources) for name, each in settings.items()}
        default = config.sasl_server_max_receive_size
        most_bytes = {name: each.number(_MOST_BYTES, default, most=MAX_INT) for name, each in settings.items()}
        between = [listening.inter_broker_listener, listening.control_plane_listener]
        own = {name: self._own_login(config, name) for name in between if name in protected and name is not None}
        return LoginsOfListeners(rules, most_bytes, own)

    def take(self, config: BrokerConfig, made: LoginsOfListeners) -> None:
        """Uses what `made` returned for these settings."""
        self._config, self._present = config, made

    def begin(self, listener: str) -> BeginLogin | None:
        """What begins the logins of a listener's connections; None for one without logins."""
        if listener not in self._present.rules:
            return None
        return LoginHost(
            lambda stage: self._rules(listener, stage),
            self._answers,
            self._outside.clock,
            lambda: self._config.connection_failed_authentication_delay_ms,
            self._callbacks,
            self._present.most_bytes[listener],
        ).begin

    def _rules(self, listener: str, stage: LoginStage) -> LoginRules:
        rules, build = self._present.rules[listener], self._builder_of(listener)
        if build is None:
            return rules
        connection = stage.connection

        def principal_of(identity: Identity) -> Principal:
            protocol = connection.security_protocol.name
            return build(Authenticated(protocol, listener, connection.peer_host, stage.certificate(), identity))

        return replace(rules, principal_of=principal_of)

    def _callbacks(self) -> Executor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(_CALLBACK_THREADS, "kafka-login")
        return self._executor

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    # ---- this broker as a client

    def own_login(self, listener: str) -> LogIn | None:
        """How this broker logs in at a listener of other brokers; None where that has no logins."""
        if listener not in self._present.own:
            return None

        async def log_in(wire: object) -> float | None:
            return await self._present.own[listener](wire)  # type: ignore[arg-type]  # the present one, after a change as well

        return log_in

    def _own_login(self, config: BrokerConfig, listener: str) -> LogIn:
        """Raises ConfigError."""
        settings = ListenerSettings(config.originals, listener)
        mechanism = settings.text("sasl.mechanism.inter.broker.protocol") or GSSAPI
        if mechanism not in enabled_mechanisms(settings):
            raise ConfigError(
                f"sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms of listener "
                f"{listener}, which do not have {mechanism}"
            )
        entries = server_modules(config.originals, listener, mechanism, self._outside.login_sections)
        entry = next((each for each in entries if each.module == MODULES[mechanism]), entries[0])
        secrets = Secrets(self._outside.chance, self._outside.clock)
        callback = settings.found("sasl.login.callback.handler.class", mechanism)
        return client_login(
            mechanism, entry, secrets, callback, _refresh_rules(settings), kerberos=_kerberos_rules(settings),
            tokens=oauth_options(lambda name: settings.text(name, OAUTHBEARER)),
        )  # fmt: skip


def _kerberos_rules(settings: ListenerSettings) -> KerberosRules:
    """Raises ConfigError."""

    def value(name: str) -> Any:
        row, found = BrokerConfig.ROWS[f"sasl.kerberos.{name}"], settings.found(f"sasl.kerberos.{name}", GSSAPI)
        return row.default if found is None else row.parse(found[1])

    return KerberosRules(
        value("service.name"), value("ticket.renew.window.factor"), value("ticket.renew.jitter"),
        value("min.time.before.relogin"), value("kinit.cmd"),
    )  # fmt: skip


def _refresh_rules(settings: ListenerSettings) -> RefreshRules:
    """When tokens for the logins at a listener are replaced. Raises ConfigError."""
    names = ("window.factor", "window.jitter", "min.period.seconds", "buffer.seconds")
    rows = [BrokerConfig.ROWS[f"sasl.login.refresh.{name}"] for name in names]
    given = [settings.text(row.name) for row in rows]
    values = (row.default if text is None else row.parse(text) for row, text in zip(rows, given, strict=True))
    return RefreshRules(*values)
