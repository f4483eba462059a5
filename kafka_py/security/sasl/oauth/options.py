"""The settings of signed tokens, which Apache Kafka has from 3.1 on, and where they name something.

Source: docs/reference/later-configs.tsv; KIP-768; SaslConfigs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.base.options import Kind, Option, OptionTable, at_least


class OAuthOptions(OptionTable):
    """Of brokers, for all listeners or with the prefix of one, and of clients."""

    sasl_login_connect_timeout_ms: Option[int | None] = Option(
        "sasl.login.connect.timeout.ms", None, kind=Kind.INT, importance="low", unit="ms",
        about="A token endpoint has this long for the connection; by default 10 seconds.",
    )
    sasl_login_read_timeout_ms: Option[int | None] = Option(
        "sasl.login.read.timeout.ms", None, kind=Kind.INT, importance="low", unit="ms",
        about="A token endpoint has this long for the next part of its response; by default 10 seconds.",
    )
    sasl_login_retry_backoff_ms = Option(
        "sasl.login.retry.backoff.ms", 100, at_least(0), kind=Kind.LONG, importance="low", unit="ms",
        about="The first wait between attempts to get a token; doubled for each further one.",
    )
    sasl_login_retry_backoff_max_ms = Option(
        "sasl.login.retry.backoff.max.ms", 10_000, at_least(0), kind=Kind.LONG, importance="low", unit="ms",
        about="The longest such wait, and how long attempts are repeated.",
    )
    sasl_oauthbearer_token_endpoint_url: Option[str | None] = Option(
        "sasl.oauthbearer.token.endpoint.url", None, kind=Kind.STRING,
        about="Where a client gets its token: https:// of an endpoint for client credentials, or file:// of a token.",
    )
    sasl_oauthbearer_header_urlencode = Option(
        "sasl.oauthbearer.header.urlencode", False,
        about="Whether a client encodes its name and secret for the endpoint, as RFC 6749 has it.",
    )
    sasl_oauthbearer_scope_claim_name = Option(
        "sasl.oauthbearer.scope.claim.name", "scope", importance="low", about="The claim with the scope of a token.",
    )
    sasl_oauthbearer_sub_claim_name = Option(
        "sasl.oauthbearer.sub.claim.name", "sub", importance="low", about="The claim that names the principal.",
    )
    sasl_oauthbearer_jwks_endpoint_url: Option[str | None] = Option(
        "sasl.oauthbearer.jwks.endpoint.url", None, kind=Kind.STRING,
        about="Where the keys are that signed tokens are checked with, https:// or file://.",
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms = Option(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000, at_least(0), kind=Kind.LONG, importance="low",
        unit="ms", about="The keys are fetched again when they are older.",
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms = Option(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100, at_least(0), kind=Kind.LONG, importance="low",
        unit="ms", about="The first wait after keys could not be fetched; doubled for each further failure.",
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms = Option(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000, at_least(0), kind=Kind.LONG, importance="low",
        unit="ms", about="The longest such wait.",
    )
    sasl_oauthbearer_clock_skew_seconds = Option(
        "sasl.oauthbearer.clock.skew.seconds", 30, at_least(0), importance="low", unit="s",
        about="How far the clock of a token's issuer may differ.",
    )
    sasl_oauthbearer_expected_audience: Option[list[str] | None] = Option(
        "sasl.oauthbearer.expected.audience", None, kind=Kind.LIST, importance="low",
        about="A token must be for one of these; without the setting it must be for nobody in particular.",
    )
    sasl_oauthbearer_expected_issuer: Option[str | None] = Option(
        "sasl.oauthbearer.expected.issuer", None, kind=Kind.STRING, importance="low",
        about="Who must have issued a token; by default anyone who has the key.",
    )


def oauth_options(text: Callable[[str], str | None]) -> OAuthOptions:
    """The values for one listener or client. text: of a setting, None where it is not given. Raises ConfigError."""
    given: Mapping[str, Any] = {name: value for name in OAuthOptions.ROWS if (value := text(name)) is not None}
    return OAuthOptions.parse(given)
