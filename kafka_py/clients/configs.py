"""The settings that every client has: where the cluster is, how to connect, when to retry, metrics, security.

producer/configs.py, consumer/configs.py and admin/configs.py add their own rows; defaults that differ between the
clients are rows there. Source: docs/reference/configs.tsv, scopes producer, consumer and admin.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Self

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Kind, Option, OptionTable, at_least, between, one_of
from kafka_py.security.config_providers import PROVIDERS, resolved
from kafka_py.security.sasl.oauth.options import OAuthOptions

_log = logging.getLogger(__name__)

INT_MAX = 2_147_483_647
"""The greatest value of a setting that is an int in Java."""


_JAVA = "OpenSSL has no such choice"


class SslOptions(OptionTable):
    """Settings of TLS."""

    ssl_cipher_suites = Option[list[str] | None](
        "ssl.cipher.suites", None, kind=Kind.LIST, importance="low",
        about="Cipher suites that are offered; empty: the library's own choice.",
    )
    ssl_enabled_protocols = Option(
        "ssl.enabled.protocols", ["TLSv1.2", "TLSv1.3"], about="TLS versions that are offered."
    )
    ssl_endpoint_identification_algorithm = Option(
        "ssl.endpoint.identification.algorithm", "https", importance="low",
        about="https: a broker's certificate must name its host; empty: not checked.",
    )
    ssl_engine_factory_class = Option[str | None](
        "ssl.engine.factory.class", None, kind=Kind.CLASS, importance="low",
        about="Java only; a client with it is refused.",
    )
    ssl_key_password = Option[str | None](
        "ssl.key.password", None, kind=Kind.PASSWORD, importance="high", about="Password of the private key."
    )
    ssl_keymanager_algorithm = Option("ssl.keymanager.algorithm", "SunX509", importance="low", no_effect=_JAVA)
    ssl_keystore_certificate_chain = Option[str | None](
        "ssl.keystore.certificate.chain", None, kind=Kind.PASSWORD, importance="high",
        about="The client's certificates, as PEM.",
    )
    ssl_keystore_key = Option[str | None](
        "ssl.keystore.key", None, kind=Kind.PASSWORD, importance="high",
        about="The client's private key itself, as PEM (KIP-651).",
    )
    ssl_keystore_location = Option[str | None](
        "ssl.keystore.location", None, importance="high",
        about="File with the client's key, for brokers that ask for a certificate.",
    )
    ssl_keystore_password = Option[str | None](
        "ssl.keystore.password", None, kind=Kind.PASSWORD, importance="high", about="Password of the key store file."
    )
    ssl_keystore_type = Option("ssl.keystore.type", "JKS", about="JKS, PKCS12 or PEM.")
    ssl_protocol = Option("ssl.protocol", "TLSv1.3", no_effect=_JAVA)
    ssl_provider = Option[str | None]("ssl.provider", None, no_effect=_JAVA)
    ssl_secure_random_implementation = Option[str | None](
        "ssl.secure.random.implementation", None, importance="low", no_effect=_JAVA
    )
    ssl_trustmanager_algorithm = Option("ssl.trustmanager.algorithm", "PKIX", importance="low", no_effect=_JAVA)
    ssl_truststore_certificates = Option[str | None](
        "ssl.truststore.certificates", None, kind=Kind.PASSWORD, importance="high",
        about="Trusted certificates, as PEM.",
    )
    ssl_truststore_location = Option[str | None](
        "ssl.truststore.location", None, importance="high",
        about="File with the trusted certificates; unset: those of the system.",
    )
    ssl_truststore_password = Option[str | None](
        "ssl.truststore.password", None, kind=Kind.PASSWORD, importance="high",
        about="Password of the trust store file.",
    )
    ssl_truststore_type = Option("ssl.truststore.type", "JKS", about="JKS, PKCS12 or PEM.")


class SaslClientOptions(OptionTable):
    """Settings of SASL; present so that every client accepts the same names."""

    sasl_client_callback_handler_class = Option[str | None](
        "sasl.client.callback.handler.class", None, kind=Kind.CLASS, no_effect="Java classes"
    )
    sasl_jaas_config = Option[str | None](
        "sasl.jaas.config", None, kind=Kind.PASSWORD, about="Login module, user and password, or keytab."
    )
    sasl_kerberos_kinit_cmd = Option(
        "sasl.kerberos.kinit.cmd", "/usr/bin/kinit", importance="low",
        about="Command that renews a user's Kerberos ticket.",
    )
    sasl_kerberos_min_time_before_relogin = Option(
        "sasl.kerberos.min.time.before.relogin", 60_000, kind=Kind.LONG, importance="low",
        about="Least time between two renewals of a ticket.",
    )
    sasl_kerberos_service_name = Option[str | None](
        "sasl.kerberos.service.name", None, about="The name that the brokers have in Kerberos, before the slash."
    )
    sasl_kerberos_ticket_renew_jitter = Option(
        "sasl.kerberos.ticket.renew.jitter", 0.05, importance="low", about="Random share added to the renewal time."
    )
    sasl_kerberos_ticket_renew_window_factor = Option(
        "sasl.kerberos.ticket.renew.window.factor", 0.8, importance="low",
        about="Share of a ticket's life after which it is renewed.",
    )
    sasl_login_callback_handler_class = Option[str | None](
        "sasl.login.callback.handler.class", None, kind=Kind.CLASS,
        about="A Python function that returns the token of OAUTHBEARER, as package.module:name.",
    )
    sasl_login_class = Option[str | None]("sasl.login.class", None, kind=Kind.CLASS, no_effect="Java classes")
    sasl_login_refresh_buffer_seconds = Option(
        "sasl.login.refresh.buffer.seconds", 300, between(0, 3600), kind=Kind.SHORT, importance="low",
        about="How long before its end a token is renewed at the latest.",
    )
    sasl_login_refresh_min_period_seconds = Option(
        "sasl.login.refresh.min.period.seconds", 60, between(0, 900), kind=Kind.SHORT, importance="low",
        about="Least time between two renewals of a token.",
    )
    sasl_login_refresh_window_factor = Option(
        "sasl.login.refresh.window.factor", 0.8, between(0.5, 1.0), importance="low",
        about="Share of a token's life after which it is renewed.",
    )
    sasl_login_refresh_window_jitter = Option(
        "sasl.login.refresh.window.jitter", 0.05, between(0.0, 0.25), importance="low",
        about="Random share added to the renewal time.",
    )
    sasl_mechanism = Option(
        "sasl.mechanism", "GSSAPI", about="GSSAPI, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."
    )


class ClientOptions(SslOptions, SaslClientOptions, OAuthOptions):
    """The settings of all clients."""

    bootstrap_servers = Option[list[str]](
        "bootstrap.servers", [], importance="high", about="host:port list, from which the cluster is discovered."
    )
    client_dns_lookup = Option(
        "client.dns.lookup",
        "use_all_dns_ips",
        one_of("default", "use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        about="With resolve_canonical_bootstrap_servers_only each address of a bootstrap server is replaced by its "
        "canonical name; of a name all addresses are tried.",
    )
    client_id = Option("client.id", "", about="Sent with every request; by default a generated one.")
    connections_max_idle_ms = Option(
        "connections.max.idle.ms", 540_000, kind=Kind.LONG, about="An unused connection is closed after this long."
    )
    metadata_max_age_ms = Option(
        "metadata.max.age.ms",
        300_000,
        at_least(0),
        kind=Kind.LONG,
        importance="low",
        about="Metadata is fetched again after this long even without an error.",
    )
    metric_reporters = Option[list[str]](
        "metric.reporters", [], importance="low", no_effect="metrics are read from the client itself"
    )
    metrics_num_samples = Option(
        "metrics.num.samples", 2, at_least(1), importance="low",
        about="Windows over which rates, averages and extremes are taken.",
    )
    metrics_recording_level = Option(
        "metrics.recording.level", "INFO", one_of("INFO", "DEBUG", "TRACE"), importance="low",
        no_effect="every metric is always taken",
    )
    metrics_sample_window_ms = Option(
        "metrics.sample.window.ms", 30_000, at_least(0), kind=Kind.LONG, importance="low",
        about="Length of such a window.",
    )
    receive_buffer_bytes = Option("receive.buffer.bytes", 65_536, at_least(-1), about="SO_RCVBUF; -1 leaves it.")
    reconnect_backoff_max_ms = Option(
        "reconnect.backoff.max.ms", 1_000, at_least(0), kind=Kind.LONG, importance="low",
        about="Longest pause before the next connection to a broker that refused several; grows up to this.",
    )
    reconnect_backoff_ms = Option(
        "reconnect.backoff.ms", 50, at_least(0), kind=Kind.LONG, importance="low",
        about="First pause before the next connection to a broker that refused one.",
    )
    request_timeout_ms = Option(
        "request.timeout.ms", 30_000, at_least(0), about="Time for a response before the connection is closed."
    )
    retry_backoff_ms = Option(
        "retry.backoff.ms", 100, at_least(0), kind=Kind.LONG, importance="low",
        about="Pause before a request that failed is sent again.",
    )
    security_protocol = Option(
        "security.protocol", "PLAINTEXT", one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        about="Whether connections are encrypted (SSL) and log in (SASL); as the listener has it.",
    )
    security_providers = Option[str | None]("security.providers", None, importance="low", no_effect="Java classes")
    send_buffer_bytes = Option("send.buffer.bytes", 131_072, at_least(-1), about="SO_SNDBUF; -1 leaves it.")
    socket_connection_setup_timeout_max_ms = Option(
        "socket.connection.setup.timeout.max.ms", 30_000, kind=Kind.LONG,
        about="Maximum of the next setting, which grows with each failure.",
    )
    socket_connection_setup_timeout_ms = Option(
        "socket.connection.setup.timeout.ms", 10_000, kind=Kind.LONG,
        about="Time limit for opening a connection, initially.",
    )

    @classmethod
    def load(cls, properties: Mapping[str, object]) -> Self:
        """Parses a user's settings; logs a warning for every unknown name.

        Raises ConfigError, which names the setting and its value.
        """
        if PROVIDERS in properties:
            properties = resolved(properties)
        table = cls.parse(properties)
        for name in table.unknown:
            if name == PROVIDERS or name.startswith(f"{PROVIDERS}."):
                continue
            _log.warning("There is no setting %r; it is ignored", name)
        for name, reason in table.without_effect().items():
            _log.warning("The setting %r has no effect: %s", name, reason)
        return table

    def validate(self) -> None:
        super().validate()
        if not [server for server in self.bootstrap_servers if server]:
            raise ConfigError("bootstrap.servers names no server")
        for server in self.bootstrap_servers:
            parse_server(server)


def parse_server(text: str) -> tuple[str, int]:
    """Host and port of one entry of bootstrap.servers: `host:port`, `[ipv6]:port` or `PROTOCOL://host:port`.

    Raises ConfigError, which names the entry.
    """
    address = text.rpartition("://")[2]
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit() or not 0 < int(port) < 65_536 or not host:
        raise ConfigError(f"Invalid url in bootstrap.servers: {text}")
    return host.removeprefix("[").removesuffix("]"), int(port)
