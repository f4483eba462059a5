"""Traces that cannot be started: the reason is one line."""

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.observe.exchanges import Exchanges
from kafka_py.broker.observe.tracing.starting import RequestTraces
from kafka_py.broker.settings.tracing_configs import TracingOptions
from kafka_py.testing.clock import ManualClock

pytest.importorskip("opentelemetry.sdk")


@pytest.mark.parametrize(
    ("name", "value"), [("OTEL_EXPORTER_OTLP_TIMEOUT", "abc"), ("OTEL_EXPORTER_OTLP_COMPRESSION", "foo")]
)
def test_what_opentelemetry_refuses_in_its_variables_is_an_error_of_the_settings(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    clock, exchanges = ManualClock(), Exchanges()
    traces = RequestTraces(TracingOptions.parse({"kafka_py.tracing.protocol": "grpc"}), {})
    with pytest.raises(ConfigError, match=f"OTEL_EXPORTER_OTLP.*{value}"):
        traces.start(1, "c", exchanges, MetricRegistry(clock), Chance(1), clock)
    assert traces.export is None and not exchanges.is_on
    traces.close()
