"""How sessions with ZooKeeper are secured: those of a broker, of its authorizer, and of commands (I/O: stores).

Source: docs/reference/security/zookeeper.md, sections 1 to 3 and 5; KafkaServer; AclAuthorizer; ZkSecurityMigrator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK, Clock
from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import read_properties
from kafka_py.security.config_providers import resolved
from kafka_py.security.java_properties import java_properties
from kafka_py.security.sasl.login_file import login_sections
from kafka_py.security.zookeeper.client_section import Sections, is_login_on, login_of, origin
from kafka_py.security.zookeeper.tls_options import (
    AUTHORIZER_PREFIX,
    ENABLE,
    JAVA_PROPERTIES,
    KEYSTORE,
    SOCKET,
    named_for_authorizer,
    shows_certificate,
    tls_options,
    with_authorizer_overlay,
)
from kafka_py.zk.configs import ZkOptions, ZkTlsOptions
from kafka_py.zk.secured.protection import Login, SessionProtection


def broker_protection(
    options: ZkOptions, sections: Sections, java: Mapping[str, str], chance: Chance, clock: Clock = SYSTEM_CLOCK
) -> SessionProtection:
    """Of a broker's session. Raises ConfigError, also if zookeeper.set.acl=true has no identity to grant access to."""
    tls = tls_options(options.originals, java)
    protects = options.zookeeper_set_acl
    if protects and not shows_certificate(tls) and not is_login_on(sections, java):
        raise ConfigError(
            f"zookeeper.set.acl is true, but ZooKeeper does not learn who this broker is: neither is there a login "
            f"({origin(java)}) nor a certificate, for which {ENABLE}, {SOCKET} and {KEYSTORE} have to be set"
        )
    return _protection(tls, login_of(sections, java, chance, clock), java, protects=protects)


def authorizer_protection(
    options: ZkOptions, sections: Sections, java: Mapping[str, str], chance: Chance, clock: Clock = SYSTEM_CLOCK
) -> SessionProtection:
    """Of the authorizer's own session (authorizer.zookeeper.*). Raises ConfigError."""
    return _own_protection(options.originals, login_of(sections, java, chance, clock), java, options.zookeeper_set_acl)


def command_protection(
    environ: Mapping[str, str], tls_file: str | None = None, *, certificate_counts: bool = False
) -> SessionProtection:
    """Of a command's session: what it creates is protected if it logs in.

    tls_file: of --zk-tls-config-file. certificate_counts: whether a certificate will do as well. Raises ConfigError.
    """
    return tls_protection(environ, {} if tls_file is None else tls_file_settings(tls_file), certificate_counts)


def tls_protection(
    environ: Mapping[str, str], given: Mapping[str, object], certificate_counts: bool
) -> SessionProtection:
    """The same with the settings of TLS themselves. Raises ConfigError."""
    sections, java = login_sections(environ), java_properties(environ)
    tls = tls_options(given, java)
    protects = is_login_on(sections, java) or (certificate_counts and shows_certificate(tls))
    return _protection(tls, login_of(sections, java, Chance()), java, protects=protects)


def acls_protection(environ: Mapping[str, str], pairs: Mapping[str, str], tls_file: str | None) -> SessionProtection:
    """Of the session of kafka-acls.sh past the brokers: zookeeper.set.acl is taken from the pairs.

    pairs: of --authorizer-properties. Raises ConfigError.
    """
    given: dict[str, object] = {**pairs, **({} if tls_file is None else tls_file_settings(tls_file))}
    sections, java = login_sections(environ), java_properties(environ)
    asked = pairs.get("zookeeper.set.acl")
    protects = is_login_on(sections, java) if asked is None else asked.strip().lower() == "true"
    return _own_protection(given, login_of(sections, java, Chance()), java, protects)


def tls_file_settings(path: str) -> dict[str, object]:
    """The settings of TLS in the file, with and without the prefix `authorizer.`; others do not count.

    Raises ConfigError.
    """
    names = {*JAVA_PROPERTIES, *(AUTHORIZER_PREFIX + name for name in JAVA_PROPERTIES)}
    return {name: value for name, value in resolved(read_properties(path)).items() if name in names}


def _own_protection(
    given: Mapping[str, object], login: Login | None, java: Mapping[str, str], protects: bool
) -> SessionProtection:
    """With the settings of the authorizer over those of the broker. Raises ConfigError."""

    def named(text: str) -> str:
        return named_for_authorizer(text, given)

    try:
        made = _protection(tls_options(with_authorizer_overlay(given), java), login, java, protects=protects)
    except ConfigError as error:
        raise ConfigError(named(error.detail)) from None
    return replace(made, named=named)


def _protection(
    tls: ZkTlsOptions, login: Login | None, java: Mapping[str, str], *, protects: bool
) -> SessionProtection:
    context = None
    if tls.zookeeper_ssl_client_enable:
        from kafka_py.security.zookeeper.tls_contexts import tls_context  # only where there is TLS

        context = tls_context(tls)
    return SessionProtection(context, login, origin(java), protects)
