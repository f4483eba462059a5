"""How the connections of a client are protected, from its settings (I/O: key and trust stores).

The packages of TLS and of logins are imported by clients that need them: a plain client starts sooner without them.
Source: KIP-85, KIP-255, KIP-651; ChannelBuilders.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.net.client import NO_SECURITY
from kafka_py.net.secured.client_security import ConnectionSecurity, LogIn

if TYPE_CHECKING:
    from kafka_py.security.tls.settings import TlsSettings


def security_of(options: ClientOptions, environment: ClientEnvironment) -> ConnectionSecurity:
    """Raises ConfigError."""
    security = NO_SECURITY
    if options.security_protocol.endswith("SSL"):
        from kafka_py.security.tls.client_tls import ClientTls

        security = ConnectionSecurity(ClientTls(tls_settings(options)).connect_to)
    if options.security_protocol.startswith("SASL_"):
        security = security._replace(log_in=_login(options, environment))
    return security


def _login(options: ClientOptions, environment: ClientEnvironment) -> LogIn:
    from kafka_py.security.sasl.client_settings import RefreshRules, Secrets, client_login
    from kafka_py.security.sasl.jaas import client_module
    from kafka_py.security.sasl.kerberos_settings import KerberosRules
    from kafka_py.security.sasl.login_file import login_sections

    value = options.sasl_jaas_config
    entry = client_module(value, {} if value is not None else login_sections(os.environ))
    path = options.sasl_login_callback_handler_class
    refresh = RefreshRules(
        options.sasl_login_refresh_window_factor,
        options.sasl_login_refresh_window_jitter,
        options.sasl_login_refresh_min_period_seconds,
        options.sasl_login_refresh_buffer_seconds,
    )
    secrets = Secrets(environment.chance, environment.clock)
    callback = None if path is None else ("sasl.login.callback.handler.class", path)
    kerberos = KerberosRules(
        options.sasl_kerberos_service_name,
        options.sasl_kerberos_ticket_renew_window_factor,
        options.sasl_kerberos_ticket_renew_jitter,
        options.sasl_kerberos_min_time_before_relogin,
        options.sasl_kerberos_kinit_cmd,
    )
    return client_login(
        options.sasl_mechanism, entry, secrets, callback, refresh, kerberos=kerberos, tokens=options
    )


def tls_settings(options: ClientOptions) -> TlsSettings:
    """Raises ConfigError."""
    from kafka_py.security.tls.settings import TlsSettings

    return TlsSettings.of(
        {
            "ssl.keystore.type": options.ssl_keystore_type,
            "ssl.keystore.location": options.ssl_keystore_location,
            "ssl.keystore.password": options.ssl_keystore_password,
            "ssl.keystore.key": options.ssl_keystore_key,
            "ssl.keystore.certificate.chain": options.ssl_keystore_certificate_chain,
            "ssl.key.password": options.ssl_key_password,
            "ssl.truststore.type": options.ssl_truststore_type,
            "ssl.truststore.location": options.ssl_truststore_location,
            "ssl.truststore.password": options.ssl_truststore_password,
            "ssl.truststore.certificates": options.ssl_truststore_certificates,
            "ssl.enabled.protocols": options.ssl_enabled_protocols,
            "ssl.cipher.suites": options.ssl_cipher_suites,
            "ssl.endpoint.identification.algorithm": options.ssl_endpoint_identification_algorithm,
            "ssl.engine.factory.class": options.ssl_engine_factory_class,
        }
    )
