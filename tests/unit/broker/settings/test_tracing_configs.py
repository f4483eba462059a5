"""Settings of traces: what is refused, and what OpenTelemetry's variables say where there is no setting."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.broker.settings.tracing_configs import (
    TracingOptions,
    headers_of,
    protocol_of,
    ratio_of,
    traces_url,
)

BEGIN = "kafka_py.tracing."


def options(**given: str) -> TracingOptions:
    return TracingOptions.parse({f"{BEGIN}{name.replace('_', '.')}": value for name, value in given.items()})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("endpoint", "collector:4318"),
        ("endpoint", "http://:4318"),
        ("endpoint", "http://x:port"),
        ("endpoint", ""),
        ("protocol", "http/json"),
        ("sampling.ratio", "1.5"),
        ("sampling.ratio", "-0.1"),
        ("sampling.ratio", "nan"),
        ("headers", "secret"),
        ("headers", "=secret"),
        ("headers", "a=secret\nb"),
        ("headers", "a b=secret"),
        ("headers", "a=secret\u20ac"),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_no_header_is_shown(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"{BEGIN}{name}") as failure:
        options(**{name: value})
    assert "secret" not in str(failure.value)


def test_headers_are_pairs_in_lower_case() -> None:
    assert headers_of("Authorization=Basic a=b, x = 1,") == {"authorization": "Basic a=b", "x": "1"}
    assert headers_of(None) is None
    assert TracingOptions.ROWS[f"{BEGIN}headers"].sensitive


def test_a_url_without_a_path_is_that_of_the_whole_collector() -> None:
    assert traces_url("http://c:4318") == traces_url("http://c:4318/") == "http://c:4318/v1/traces"
    assert traces_url("https://c/otlp/v1/traces") == "https://c/otlp/v1/traces"


def test_the_protocol_is_that_of_the_setting_then_of_the_environment() -> None:
    environ = {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
    assert protocol_of(options(), {}) == "http/protobuf"
    assert protocol_of(options(), environ) == "grpc"
    assert protocol_of(options(), {**environ, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}) == "http/protobuf"
    assert protocol_of(options(protocol="http/protobuf"), environ) == "http/protobuf"
    with pytest.raises(ConfigError, match="OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol_of(options(), {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"})


@pytest.mark.parametrize(
    ("sampler", "argument", "ratio"),
    [
        ("", "", 0.01),
        ("always_on", "", 1.0),
        ("parentbased_always_on", "", 1.0),
        ("always_off", "", 0.0),
        ("traceidratio", "0.25", 0.25),
        ("parentbased_traceidratio", "", 1.0),
    ],
)
def test_the_share_is_that_of_the_setting_then_of_the_environment(sampler: str, argument: str, ratio: float) -> None:
    environ = {"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument}
    assert ratio_of(options(), environ) == ratio
    assert ratio_of(options(sampling_ratio="0.5"), environ) == 0.5


@pytest.mark.parametrize(("sampler", "argument"), [("jaeger_remote", ""), ("traceidratio", "2"), ("traceidratio", "x")])
def test_a_sampler_that_we_lack_is_refused(sampler: str, argument: str) -> None:
    with pytest.raises(ConfigError, match="OTEL_TRACES_SAMPLER"):
        ratio_of(options(), {"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument})
