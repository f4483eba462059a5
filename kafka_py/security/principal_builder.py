"""Who the client of a connection is, as an operator's own class says: `principal.builder.class`.

Such a class has the method `build(authenticated)`, which must not wait, and returns a Principal or a text such as
`User:alice`; it may raise ValueError with a reason, which ends the connection. It may have `configure(properties)`.
Source: KIP-189; KafkaPrincipalBuilder; docs/security.md, "Principals of your own".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_py.base.plugins import make_plugin
from kafka_py.net.principal import Principal

if TYPE_CHECKING:
    from kafka_py.security.sasl.mechanisms import Identity

_log = logging.getLogger(__name__)

SETTING = "principal.builder.class"
DEFAULT_BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
"""The class of Apache Kafka that does what this broker does without a builder."""
METHODS = ("build",)


class Authenticated(NamedTuple):
    """What is known of a connection.

    security_protocol: as in SASL_SSL. host: address of the client. certificate: the client's as DER; None without one.
    login: who has logged in; None on a listener without logins.
    """

    security_protocol: str
    listener: str
    host: str
    certificate: bytes | None
    login: Identity | None


BuildPrincipal = Callable[[Authenticated], Principal]
"""Raises ValueError with one line for the log: the connection is refused."""


def load_builder(setting: str, name: str, properties: Mapping[str, object]) -> BuildPrincipal:
    """name: `package.module:Class` or a dotted path. Raises ConfigError."""
    plugin = make_plugin(setting, name.replace(":", "."), METHODS, properties)

    def build(authenticated: Authenticated) -> Principal:
        try:
            return _principal(plugin.build(authenticated))
        except ValueError:
            raise
        except Exception as error:
            _log.exception("%s %s failed for a client at %s", setting, name, authenticated.host)
            raise ValueError(f"{setting} failed: {type(error).__name__}") from error

    return build


def _principal(made: Any) -> Principal:
    if isinstance(made, Principal):
        return made
    kind, colon, name = made.partition(":") if isinstance(made, str) else ("", "", "")
    if not (kind and colon and name):
        raise ValueError(f"{SETTING} returned no principal, but {type(made).__name__}")
    return Principal(kind, name)
