"""The login at ZooKeeper: the section of the login file, and what switches it off.

Reads no file but keytabs of Kerberos.
Source: docs/reference/security/zookeeper.md, section 2; JaasUtils; ZooKeeperSaslClient.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SYSTEM_CLOCK, Clock
from kafka_py.base.errors import ConfigError
from kafka_py.security.sasl.jaas import LOGIN_FILE_PROPERTY, LoginModule
from kafka_py.security.sasl.kerberos_settings import KERBEROS_MODULE, kerberos_entry
from kafka_py.zk.secured.digest_md5 import SERVICE, DigestMd5
from kafka_py.zk.secured.protection import Login

_log = logging.getLogger(__name__)

USE_PROPERTY = "zookeeper.sasl.client"
SECTION_PROPERTY = "zookeeper.sasl.clientconfig"
SERVICE_PROPERTY = "zookeeper.sasl.client.username"
DEFAULT_SECTION = "Client"
DIGEST_MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"

Sections = Mapping[str, Sequence[LoginModule]]


def section_name(java: Mapping[str, str]) -> str:
    """The section of the login file that is ZooKeeper's."""
    return java.get(SECTION_PROPERTY, DEFAULT_SECTION)


def is_login_on(sections: Sections, java: Mapping[str, str]) -> bool:
    """Whether there is a login. Raises ConfigError if there is one that zookeeper.sasl.client switches off."""
    is_given = section_name(java) in sections
    if is_given and java.get(USE_PROPERTY, "true").lower() != "true":
        raise ConfigError(
            f"-D{USE_PROPERTY}={java[USE_PROPERTY]} switches the login at ZooKeeper off, but the login file has the "
            f"section {section_name(java)}: remove one of them"
        )
    return is_given


def origin(java: Mapping[str, str]) -> str:
    """Where the login is configured, for errors."""
    file = java.get(LOGIN_FILE_PROPERTY)
    if not file:
        return f"section {section_name(java)} of the login file that {LOGIN_FILE_PROPERTY} names"
    return f"section {section_name(java)} of the login file {file} ({LOGIN_FILE_PROPERTY})"


def login_of(
    sections: Sections, java: Mapping[str, str], chance: Chance, clock: Clock = SYSTEM_CLOCK
) -> Login | None:
    """The login; None without one. Raises ConfigError for one that cannot be used, without its values."""
    if not is_login_on(sections, java):
        if SECTION_PROPERTY in java:
            _log.warning("There is no login at ZooKeeper: the login file has no section %s", section_name(java))
        return None
    modules = sections[section_name(java)]
    if not modules:
        raise ConfigError(f"{origin(java)}: it has no login module")
    entry = modules[0]
    if entry.module == KERBEROS_MODULE:
        return _kerberos(entry, java, chance, clock)
    if entry.module != DIGEST_MODULE:
        raise ConfigError(
            f"{origin(java)}: the login module {entry.module} cannot be used, only {DIGEST_MODULE} and "
            f"{KERBEROS_MODULE}"
        )
    missing = [name for name in ("username", "password") if not entry.options.get(name)]
    if missing:
        raise ConfigError(f"{origin(java)}: {DIGEST_MODULE} has no option {missing[0]}")
    return DigestMd5(entry.options["username"], entry.options["password"], chance)


def _kerberos(entry: LoginModule, java: Mapping[str, str], chance: Chance, clock: Clock) -> Login:
    from kafka_py.security.zookeeper.kerberos_login import kerberos_login  # only where there is Kerberos

    try:
        keys = kerberos_entry(entry.options)
    except ConfigError as error:
        raise ConfigError(f"{origin(java)}: {error.detail}") from None
    return kerberos_login(keys, java.get(SERVICE_PROPERTY) or SERVICE, origin(java), chance, clock)
