"""The sessions of a broker with ZooKeeper: its own, and one of the authorizer where the settings ask for that.

Source: docs/reference/security/zookeeper.md, sections 1 to 3; docs/reference/security/acls.md, section 4;
AclAuthorizer.
"""

from __future__ import annotations

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.protections import AUTHORIZER_ZOOKEEPER, AUTHORIZER_ZOOKEEPER_URL
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.security.zookeeper.protections import authorizer_protection, broker_protection
from kafka_py.security.zookeeper.tls_options import named_for_authorizer
from kafka_py.zk.configs import ConnectString, ZkOptions
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.session import ZkSession


def broker_session(config: BrokerConfig, outside: ServerEnvironment) -> ZkSession:
    """The broker's session, not yet connected: the given one, else as the settings say. Raises ConfigError."""
    if outside.session is not None:
        return outside.session
    protection = broker_protection(
        config, outside.login_sections, outside.java_properties, outside.chance, outside.clock
    )
    return KazooSession.of(config, clock=outside.clock, protection=protection)


def authorizer_session(config: BrokerConfig, outside: ServerEnvironment) -> ZkSession | None:
    """A session for the ACLs, not yet connected; None if no setting asks for one of its own. Raises ConfigError."""
    if not any(name.startswith(AUTHORIZER_ZOOKEEPER) for name in config.originals):
        return None
    options = authorizer_options(config)
    protection = authorizer_protection(
        config, outside.login_sections, outside.java_properties, outside.chance, outside.clock
    )
    return KazooSession.of(
        options, clock=outside.clock, protection=protection, connect_setting=AUTHORIZER_ZOOKEEPER_URL
    )


def authorizer_options(config: ZkOptions) -> ZkOptions:
    """The broker's settings with those of `authorizer.zookeeper.*` over them. Raises ConfigError."""
    given = config.originals
    own: dict[str, object] = {}
    for name in ("connection.timeout.ms", "session.timeout.ms", "max.in.flight.requests"):
        value = given.get(f"{AUTHORIZER_ZOOKEEPER}{name}")
        if value is not None:
            own[f"zookeeper.{name}"] = value
    own.setdefault("zookeeper.connection.timeout.ms", config.connection_timeout_ms())
    url = given.get(AUTHORIZER_ZOOKEEPER_URL)
    if url is not None:
        ConnectString.parse(str(url), AUTHORIZER_ZOOKEEPER_URL)  # names the setting if it is malformed
        own["zookeeper.connect"] = url
    of_connections = {name: value for name, value in given.items() if name in ZkOptions.ROWS}
    try:
        return ZkOptions.parse({**of_connections, **own})
    except ConfigError as error:
        raise ConfigError(named_for_authorizer(error.detail, given)) from None
