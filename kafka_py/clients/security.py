"""How the connections of a client are protected, from its settings.

Source: KIP-85, KIP-255; ChannelBuilders.
"""

from __future__ import annotations

import os

from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.net.client import NO_SECURITY
from kafka_py.net.secured.client_security import ConnectionSecurity


def security_of(options: ClientOptions, environment: ClientEnvironment) -> ConnectionSecurity:
    """Raises ConfigError."""
    if not options.security_protocol.startswith("SASL_"):
        return NO_SECURITY
    from kafka_py.security.sasl.client_settings import RefreshRules, Secrets, client_login
    from kafka_py.security.sasl.jaas import client_module
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
    return ConnectionSecurity(log_in=client_login(options.sasl_mechanism, entry, secrets, callback, refresh))
