"""Starts and stops the traces of a broker, as its settings say."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Event
from typing import TYPE_CHECKING

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ConfigError
from kafka_py.base.meters import MetricRegistry
from kafka_py.broker.observe.exchanges import Exchanges
from kafka_py.broker.observe.tracing.metrics import TracingMetrics
from kafka_py.broker.observe.tracing.sampling import Sampler
from kafka_py.broker.settings.tracing_configs import TracingOptions, protocol_of, ratio_of

if TYPE_CHECKING:
    from kafka_py.broker.observe.tracing.exporting import SpanExport


def check_tracing(options: TracingOptions, environ: Mapping[str, str]) -> None:
    """Raises ConfigError where the packages are missing or the environment has a value that we do not support."""
    protocol_of(options, environ)
    ratio_of(options, environ)
    try:
        from kafka_py.broker.observe.tracing import exporting  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"kafka_py.tracing.enabled needs the extra: pip install 'kafka_py[otel]' ({error})") from None


class RequestTraces:
    """The traces of one broker, from `start` to `close`."""

    def __init__(self, options: TracingOptions, environ: Mapping[str, str]) -> None:
        self._options = options
        self._environ = environ
        self.export: SpanExport | None = None

    def start(
        self, broker_id: int, cluster_id: str, exchanges: Exchanges, registry: MetricRegistry, chance: Chance,
        clock: Clock,
    ) -> None:  # fmt: skip
        """Traces requests from now on. Raises ConfigError for what OpenTelemetry refuses in its own variables."""
        from kafka_py.broker.observe.tracing import exporting

        options, wakened = self._options, Event()
        ratio = ratio_of(options, self._environ)
        sampler = Sampler(ratio, chance.generator(), wakened.set, names_principal=options.tracing_principal)
        try:
            exporter = exporting.make_exporter(options, self._environ)
        except Exception as error:
            raise ConfigError(f"A variable OTEL_EXPORTER_OTLP_... cannot be used: {error}") from None
        export = self.export = exporting.SpanExport(
            exporter,
            exporting.make_resource(options.tracing_service_name, broker_id, cluster_id),
            sampler,
            wakened,
            chance.generator(),
            clock,
        )
        TracingMetrics(registry, export)
        export.start()
        exchanges.trace_with(sampler)

    def close(self) -> None:
        """Ends the traces, and sends what is left, for a few seconds at most. Blocks; may be called again."""
        if self.export is not None:
            self.export.close()
            self.export = None
