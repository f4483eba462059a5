"""The settings of traces of requests, which Apache Kafka does not have.

Settings without a value leave the choice to OpenTelemetry's own environment variables (OTEL_EXPORTER_OTLP_ENDPOINT and
so on). Source: docs/tracing.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Kind, Option, OptionTable, between, one_of

HTTP, GRPC = "http/protobuf", "grpc"
_HEADER_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""Names that both protocols can send; with another one, every message to the collector would fail."""


class TracingOptions(OptionTable):
    """Whether requests are traced, how many of them, and where the spans are sent."""

    tracing_enabled = Option(
        "kafka_py.tracing.enabled", False, importance="low",
        about="Whether spans of requests are sent to an OpenTelemetry collector; needs the extra `otel`.",
    )
    tracing_endpoint: Option[str | None] = Option(
        "kafka_py.tracing.endpoint", None, kind=Kind.STRING, importance="low",
        about="URL of the collector; by default OTEL_EXPORTER_OTLP_ENDPOINT, else the protocol's port of this machine.",
    )
    tracing_protocol: Option[str | None] = Option(
        "kafka_py.tracing.protocol", None, one_of(HTTP, GRPC), kind=Kind.STRING, importance="low",
        about="http/protobuf or grpc; by default OTEL_EXPORTER_OTLP_PROTOCOL, else http/protobuf.",
    )
    tracing_headers: Option[str | None] = Option(
        "kafka_py.tracing.headers", None, kind=Kind.PASSWORD, importance="low",
        about="name=value, comma-separated: headers for the collector, such as a token; else "
        "OTEL_EXPORTER_OTLP_HEADERS.",
    )
    tracing_sampling_ratio: Option[float | None] = Option(
        "kafka_py.tracing.sampling.ratio", None, between(0, 1), kind=Kind.DOUBLE, importance="low",
        about="Share of requests that are traced, 0 to 1; by default as OTEL_TRACES_SAMPLER says, else 0.01.",
    )
    tracing_service_name: Option[str | None] = Option(
        "kafka_py.tracing.service.name", None, kind=Kind.STRING, importance="low",
        about="service.name of the spans; by default OTEL_SERVICE_NAME, else kafka.",
    )
    tracing_principal = Option(
        "kafka_py.tracing.principal", False, importance="low", about="Whether spans name the principal of the request.",
    )

    def validate(self) -> None:
        super().validate()
        if self.tracing_endpoint is not None:
            _check_endpoint(self.tracing_endpoint)
        headers_of(self.tracing_headers)


def _check_endpoint(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        is_usable = False
    if not is_usable:
        raise ConfigError(f"kafka_py.tracing.endpoint must be a URL such as http://collector:4318, not {url}")


def headers_of(text: str | None) -> dict[str, str] | None:
    """Headers by their names in lower case, as gRPC wants them; None without the setting. Raises ConfigError."""
    if text is None:
        return None
    headers = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        name, is_pair, value = pair.partition("=")
        if not (is_pair and _HEADER_NAME.fullmatch(name.strip()) and value.isascii() and value.isprintable()):
            raise ConfigError("kafka_py.tracing.headers must be name=value, comma-separated")
        headers[name.strip().lower()] = value.strip()
    return headers


def protocol_of(config: TracingOptions, environ: Mapping[str, str]) -> str:
    """The protocol to the collector. Raises ConfigError for one that the environment names and we do not have."""
    if config.tracing_protocol is not None:
        return config.tracing_protocol
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if value := environ.get(name, "").strip():
            if value not in (HTTP, GRPC):
                raise ConfigError(f"{name} must be {HTTP} or {GRPC}, not {value}")
            return value
    return HTTP


def ratio_of(config: TracingOptions, environ: Mapping[str, str]) -> float:
    """The share of requests that are traced. Raises ConfigError for a sampler that we do not have."""
    if config.tracing_sampling_ratio is not None:
        return config.tracing_sampling_ratio
    sampler = environ.get("OTEL_TRACES_SAMPLER", "").strip()
    kind = sampler.removeprefix("parentbased_")
    if kind == "traceidratio":
        text = environ.get("OTEL_TRACES_SAMPLER_ARG", "").strip() or "1"
        try:
            ratio = float(text)
        except ValueError:
            ratio = -1.0
        if not 0.0 <= ratio <= 1.0:
            raise ConfigError(f"OTEL_TRACES_SAMPLER_ARG must be from 0 to 1, not {text}")
        return ratio
    ratios = {"": 0.01, "always_on": 1.0, "always_off": 0.0}
    if kind not in ratios:
        raise ConfigError(f"OTEL_TRACES_SAMPLER {sampler} is not supported; set kafka_py.tracing.sampling.ratio")
    return ratios[kind]


def traces_url(endpoint: str) -> str:
    """Where spans are posted to: a URL without a path is that of the collector as a whole."""
    return endpoint.rstrip("/") + "/v1/traces" if urlsplit(endpoint).path in ("", "/") else endpoint
