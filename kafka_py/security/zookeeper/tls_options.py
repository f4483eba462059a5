"""The settings of TLS to ZooKeeper: those given, else the properties of Java that ZooKeeper's own client knows.

Pure. Source: docs/reference/security/zookeeper.md, section 1; KIP-515; KafkaConfig.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafka_py.base.errors import ConfigError
from kafka_py.zk.configs import ZkTlsOptions

ENABLE = "zookeeper.ssl.client.enable"
SOCKET = "zookeeper.clientCnxnSocket"
KEYSTORE = "zookeeper.ssl.keystore.location"
ENDPOINT_IDENTIFICATION = "zookeeper.ssl.endpoint.identification.algorithm"
NETTY_SOCKET = "org.apache.zookeeper.ClientCnxnSocketNetty"
AUTHORIZER_PREFIX = "authorizer."

JAVA_PROPERTIES = {
    ENABLE: "zookeeper.client.secure",
    SOCKET: "zookeeper.clientCnxnSocket",
    KEYSTORE: "zookeeper.ssl.keyStore.location",
    "zookeeper.ssl.keystore.password": "zookeeper.ssl.keyStore.password",
    "zookeeper.ssl.keystore.type": "zookeeper.ssl.keyStore.type",
    "zookeeper.ssl.truststore.location": "zookeeper.ssl.trustStore.location",
    "zookeeper.ssl.truststore.password": "zookeeper.ssl.trustStore.password",
    "zookeeper.ssl.truststore.type": "zookeeper.ssl.trustStore.type",
    "zookeeper.ssl.protocol": "zookeeper.ssl.protocol",
    "zookeeper.ssl.enabled.protocols": "zookeeper.ssl.enabledProtocols",
    "zookeeper.ssl.cipher.suites": "zookeeper.ssl.ciphersuites",
    ENDPOINT_IDENTIFICATION: "zookeeper.ssl.hostnameVerification",
    "zookeeper.ssl.crl.enable": "zookeeper.ssl.crl",
    "zookeeper.ssl.ocsp.enable": "zookeeper.ssl.ocsp",
}
"""The property of ZooKeeper's client in whose place a setting is."""

_FLAGS = frozenset({ENABLE, "zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable"})

_OTHER_NAMES = {"zookeeper.connect": "authorizer.zookeeper.url"}
_OF_SESSION = ("zookeeper.connection.timeout.ms", "zookeeper.session.timeout.ms", "zookeeper.max.in.flight.requests")
_EVERY_NAME = sorted((*JAVA_PROPERTIES, *_OTHER_NAMES, *_OF_SESSION), key=len, reverse=True)
_NAMES = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, _EVERY_NAME))})(?![\w.]*\w)")


def tls_options(given: Mapping[str, object], java: Mapping[str, str]) -> ZkTlsOptions:
    """The settings in effect. given: a broker's, or those of a file; others in it do not count. Raises ConfigError."""
    values: dict[str, object] = {
        name: _translated(name, java[property_])
        for name, property_ in JAVA_PROPERTIES.items()
        if java.get(property_) is not None
    }
    values.update((name, given[name]) for name in JAVA_PROPERTIES if given.get(name) is not None)
    return ZkTlsOptions.parse(values)


def _translated(name: str, value: str) -> str:
    if name in _FLAGS:
        return "true" if value == "true" else "false"
    if name == ENDPOINT_IDENTIFICATION:
        return "HTTPS" if value == "true" else ""
    return value


def with_authorizer_overlay(given: Mapping[str, object]) -> dict[str, object]:
    """The settings of the authorizer's own connection: those with the prefix `authorizer.` go over the others."""
    own = {
        name: given[AUTHORIZER_PREFIX + name]
        for name in JAVA_PROPERTIES
        if given.get(AUTHORIZER_PREFIX + name) is not None
    }
    return {**given, **own}


def named_for_authorizer(text: str, given: Mapping[str, object]) -> str:
    """A failure of the authorizer's own session with the names by which its settings were given."""

    def name_in(found: re.Match[str]) -> str:
        own = _OTHER_NAMES.get(found[0], AUTHORIZER_PREFIX + found[0])
        return own if given.get(own) is not None else found[0]

    return _NAMES.sub(name_in, text)


def checks_names(options: ZkTlsOptions) -> bool:
    """Whether a server's certificate must name it: with HTTPS in any case of letters, and not otherwise."""
    return options.zookeeper_ssl_endpoint_identification_algorithm.strip().upper() == "HTTPS"


def shows_certificate(options: ZkTlsOptions) -> bool:
    """Whether the client has an identity by TLS: as in Apache Kafka three settings are asked for."""
    return bool(
        options.zookeeper_ssl_client_enable
        and options.zookeeper_client_cnxn_socket
        and options.zookeeper_ssl_keystore_location
    )


def check_usable(options: ZkTlsOptions) -> None:
    """Raises ConfigError for what cannot be had: another socket than Netty's, which has no TLS, and revocation."""
    socket = options.zookeeper_client_cnxn_socket
    if socket and socket.rpartition(".")[2] != NETTY_SOCKET.rpartition(".")[2]:
        raise ConfigError(f"{SOCKET}={socket} cannot be used with {ENABLE}=true: only {NETTY_SOCKET} can do TLS")
    for name, is_on in (
        ("zookeeper.ssl.crl.enable", options.zookeeper_ssl_crl_enable),
        ("zookeeper.ssl.ocsp.enable", options.zookeeper_ssl_ocsp_enable),
    ):
        if is_on:
            raise ConfigError(f"{name}=true is not supported: the revocation of certificates cannot be looked up here")
