"""The table of all broker settings: those of this package, and the tables of lower packages.

Source: docs/reference/configs.tsv, scope broker; a test compares the two row by row.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import MAX_LONG, Kind, Live, Option, OptionTable, at_least, between
from kafka_py.broker.settings.java_classes import class_warnings
from kafka_py.broker.settings.protections import AUTHORIZER_SETTINGS, PROTECTIONS, ProtectionOptions
from kafka_py.broker.settings.security_configs import SecurityOptions
from kafka_py.broker.settings.tracing_configs import TracingOptions
from kafka_py.controller.configs import ControllerOptions
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.log.model.broker_options import LogOptions
from kafka_py.net.configs import NetOptions, OwnNetOptions
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.security.config_providers import PROVIDERS
from kafka_py.security.sasl.oauth.options import OAuthOptions
from kafka_py.zk.configs import ZkOptions

_ALL = Live.CLUSTER_WIDE
_SOCKET_TIMEOUTS = "replica.socket.timeout.ms and controller.socket.timeout.ms also bound the connection set-up"
_FIXED_WINDOWS = "windows of metrics have a fixed length"


class ServerOptions(OptionTable):
    """Identity of the broker, threads, fetches."""

    broker_id = Option(
        "broker.id", -1, importance="high",
        about="The broker id; -1: the one in meta.properties, or a generated one.",
    )
    broker_id_generation_enable = Option(
        "broker.id.generation.enable", True, about="Whether an id is generated for a broker without broker.id.",
    )
    reserved_broker_max_id = Option(
        "reserved.broker.max.id", 1000, at_least(0), about="Generated ids are above it; configured ids must not be.",
    )
    broker_rack: Option[str | None] = Option(
        "broker.rack", None, kind=Kind.STRING, about="Rack of the broker; replicas are spread over racks.",
    )
    num_io_threads = Option(
        "num.io.threads", 8, at_least(1), live=_ALL, importance="high",
        about="Threads for work that would block the event loop.",
    )
    background_threads = Option(
        "background.threads", 10, at_least(1), live=_ALL, importance="high",
        no_effect="num.io.threads serves background work too", about="Threads for background work.",
    )
    request_timeout_ms = Option(
        "request.timeout.ms", 30_000, importance="high", unit="ms",
        about="How long this broker waits for the response of another broker.",
    )
    socket_connection_setup_timeout_ms = Option(
        "socket.connection.setup.timeout.ms", 10_000, kind=Kind.LONG, unit="ms", no_effect=_SOCKET_TIMEOUTS,
        about="Time limit for opening a connection to another broker, initially.",
    )
    socket_connection_setup_timeout_max_ms = Option(
        "socket.connection.setup.timeout.max.ms", 30_000, kind=Kind.LONG, unit="ms", no_effect=_SOCKET_TIMEOUTS,
        about="Maximum of that limit, which grows with each failure.",
    )
    auto_create_topics_enable = Option(
        "auto.create.topics.enable", True, importance="high", about="Whether Metadata for a missing topic creates it.",
    )
    alter_config_policy_class_name: Option[str | None] = Option(
        "alter.config.policy.class.name", None, kind=Kind.CLASS, importance="low",
        about="Dotted path of a Python class that may refuse changed settings: configure(configs), validate(request).",
    )
    max_incremental_fetch_session_cache_slots = Option(
        "max.incremental.fetch.session.cache.slots", 1000, at_least(0), about="Fetch sessions cached (KIP-227).",
    )
    fetch_max_bytes = Option(
        "fetch.max.bytes", 57_671_680, at_least(1024), unit="bytes", about="Maximum size of a fetch response.",
    )


class OwnQuotaOptions(OptionTable):
    """Settings of client quotas that Apache Kafka 2.8.2 does not have."""

    quota_even = Option(
        "kafka_py.quota.even", True, importance="low",
        about="Whether a client over its byte rate gets it back evenly; false: in a burst for each window of samples.",
    )  # fmt: skip


class QuotaOptions(OwnQuotaOptions):
    """Settings of client quotas."""

    quota_producer_default = Option(
        "quota.producer.default", MAX_LONG, at_least(1), kind=Kind.LONG, importance="high", deprecated=True,
        unit="bytes/s", about="Byte rate of a producer without a specific quota.",
    )
    quota_consumer_default = Option(
        "quota.consumer.default", MAX_LONG, at_least(1), kind=Kind.LONG, importance="high", deprecated=True,
        unit="bytes/s", about="Byte rate of a consumer without a specific quota.",
    )
    quota_window_num = Option("quota.window.num", 11, at_least(1), importance="low", about="Samples kept.")
    quota_window_size_seconds = Option(
        "quota.window.size.seconds", 1, at_least(1), importance="low", unit="s", about="Length of a sample.",
    )
    controller_quota_window_num = Option(
        "controller.quota.window.num", 11, at_least(1), importance="low", about="Samples kept of controller mutations.",
    )
    controller_quota_window_size_seconds = Option(
        "controller.quota.window.size.seconds", 1, at_least(1), importance="low", unit="s",
        about="Length of a sample of controller mutations.",
    )
    client_quota_callback_class: Option[str | None] = Option(
        "client.quota.callback.class", None, kind=Kind.CLASS, importance="low",
        about="Dotted path of a Python class that decides quotas of clients (broker/quotas/callback.py).",
    )


class MetricOptions(OptionTable):
    """Settings of metrics and their reporters."""

    metrics_num_samples = Option(
        "metrics.num.samples", 2, at_least(1), importance="low", no_effect=_FIXED_WINDOWS, about="Samples per rate.",
    )
    metrics_sample_window_ms = Option(
        "metrics.sample.window.ms", 30_000, at_least(1), kind=Kind.LONG, importance="low", unit="ms",
        no_effect=_FIXED_WINDOWS, about="Length of a sample.",
    )
    metric_reporters = Option[list[str]](
        "metric.reporters", [], live=_ALL, importance="low", about="Reporter classes of metrics.",
    )
    metrics_recording_level = Option(
        "metrics.recording.level", "INFO", importance="low", no_effect="every metric is always recorded",
        about="INFO, DEBUG or TRACE: the metrics that are recorded.",
    )
    kafka_metrics_reporters = Option[list[str]](
        "kafka.metrics.reporters", [], importance="low", about="Reporter classes that write metrics.",
    )
    kafka_metrics_polling_interval_secs = Option(
        "kafka.metrics.polling.interval.secs", 10, at_least(1), importance="low", unit="s", about="Report interval.",
    )


class ObservationOptions(OptionTable):
    """Settings of reporters and the metrics endpoint that are not in Apache Kafka 2.8.2's table."""

    metrics_http_port = Option(
        "metrics.http.port", -1, between(-1, 65_535), importance="low",
        about="Port of /metrics for Prometheus; -1 for none, 0 for any free port.",
    )
    metrics_http_host = Option(
        "metrics.http.host", "127.0.0.1", importance="low", about="Address of that port; empty for all addresses.",
    )
    csv_metrics_enabled = Option(
        "kafka.csv.metrics.reporter.enabled", False, importance="low",
        about="Whether kafka.metrics.KafkaCSVMetricsReporter writes, where kafka.metrics.reporters names it.",
    )
    csv_metrics_directory = Option(
        "kafka.csv.metrics.dir", "kafka_metrics", importance="low", about="Directory of its files.",
    )


_OF_OTHERS = ("listener.name.", PROVIDERS)


class BrokerConfig(
    ServerOptions,
    LogOptions,
    NetOptions,
    ReplicationOptions,
    ControllerOptions,
    CoordinatorOptions,
    SecurityOptions,
    QuotaOptions,
    MetricOptions,
    ObservationOptions,
    TracingOptions,
    ProtectionOptions,
    OAuthOptions,
    ZkOptions,
):
    """All settings of a broker."""

    def validate(self) -> None:
        super().validate()
        if self.broker_id_generation_enable:
            if not -1 <= self.broker_id <= self.reserved_broker_max_id:
                raise ConfigError(
                    f"broker.id must be -1 to generate one, or from 0 to reserved.broker.max.id "
                    f"({self.reserved_broker_max_id}), not {self.broker_id}"
                )
        elif self.broker_id < 0:
            raise ConfigError("broker.id must be 0 or greater when broker.id.generation.enable is false")

    def unknown_settings(self) -> list[str]:
        """Unknown names, for a warning; those of listeners, config providers and the authorizer are known."""
        known = {*PROTECTIONS, *(AUTHORIZER_SETTINGS if self.authorizer_class_name else ())}
        return [name for name in self.unknown if not name.startswith(_OF_OTHERS) and name not in known]

    def deprecated_settings(self) -> list[str]:
        """Deprecated names that are set."""
        return [name for name in self.originals if name in self.ROWS and self.ROWS[name].deprecated]


def own_settings() -> Iterable[str]:
    """Names that Apache Kafka 2.8.2 does not have."""
    tables = (ObservationOptions, TracingOptions, ProtectionOptions, OwnNetOptions, OwnQuotaOptions, OAuthOptions)
    return [name for table in tables for name in table.ROWS]


def warnings_of(config: BrokerConfig) -> Iterable[str]:
    """One warning per probable mistake in the settings."""
    for name in config.unknown_settings():
        yield f"Unknown setting {name}: it is ignored."
    for name in config.deprecated_settings():
        yield f"Deprecated setting {name}: it still works."
    yield from config.unprotected()
    yield from class_warnings(config.originals)
    without_effect = config.without_effect()
    if without_effect:
        named = "; ".join(f"{name} ({reason})" for name, reason in without_effect.items())
        yield f"Settings without effect on this broker: {named}"
