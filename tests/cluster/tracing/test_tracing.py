"""Traces of requests: what a collector receives of a broker, and that a collector in trouble costs no request."""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode
from kafka_py.broker.observe.tracing.sampling import MOST_QUEUED
from kafka_py.broker.server import KafkaServer
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.wiring.server_environment import ServerEnvironment
from kafka_py.testing.local_broker import LocalBroker, batch, in_folder
from kafka_py.testing.peers.apache import Unavailable
from kafka_py.testing.peers.otel_collector import OtelCollector
from kafka_py.testing.peers.otlp_receiver import OtlpReceiver, ReceivedSpan
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.metadata import MetadataRequest

WAIT_MS = 120


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpReceiver]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    with OtlpReceiver() as made:
        yield made


async def traced_broker(folder: str, endpoint: str, **settings: str) -> LocalBroker:
    """settings: without what their names begin with, `_` for `.`."""
    given = {"enabled": "true", "endpoint": endpoint, "sampling_ratio": "1", **settings}
    named = {f"kafka_py.tracing.{name.replace('_', '.')}": value for name, value in given.items()}
    broker = LocalBroker(folder, FakeZookeeper(), named)
    await broker.start()
    return broker


async def requests_of_every_kind(broker: LocalBroker) -> None:
    await broker.create_topic("orders", 1)
    assert (await broker.produce("orders", batch(b"a", b"b"))).error_code == 0
    assert (await broker.produce("nope", batch(b"a"))).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    await broker.fetch("orders", 2, max_wait_ms=WAIT_MS)


def check_spans(receiver: OtlpReceiver, began_ns: int, port: int) -> None:
    """The spans of `requests_of_every_kind`."""
    stored, refused = receiver.spans("Produce")
    [fetch] = receiver.spans("Fetch")
    for span in (stored, refused, fetch):
        assert span.kind == 2
        attributes = span.attributes
        assert (attributes["messaging.system"], attributes["messaging.client.id"]) == ("kafka", "test")
        assert (attributes["server.address"], attributes["server.port"]) == ("127.0.0.1", port)
        assert attributes["client.address"] == "127.0.0.1" and attributes["client.port"] != port
        assert attributes["kafka_py.listener"] == "PLAINTEXT" and "kafka_py.principal" not in attributes
        assert began_ns - 10**7 <= span.start_ns <= span.end_ns <= time.time_ns() + 10**7
        assert span.resource["service.name"] == "kafka" and span.resource["service.instance.id"] == "0"
    assert stored.status == 0 and "error.type" not in stored.attributes
    assert stored.attributes["messaging.destination.name"] == "orders"
    assert stored.attributes["messaging.destination.partition.id"] == "0"
    assert (stored.attributes["kafka_py.api.key"], stored.attributes["kafka_py.api.version"]) == (0, 8)
    assert stored.attributes["kafka_py.request.bytes"] > 70 and stored.attributes["kafka_py.response.bytes"] > 40
    assert refused.status == 2 and refused.attributes["error.type"] == "UNKNOWN_TOPIC_OR_PARTITION"
    check_waiting(fetch)
    assert len({span.trace_id for span in receiver.spans()}) == len(receiver.spans())


def check_waiting(fetch: ReceivedSpan) -> None:
    """The fetch waited in the purgatory, and its span tells how long."""
    attributes = fetch.attributes
    assert WAIT_MS * 0.8 <= attributes["kafka_py.remote.time_ms"] <= (fetch.end_ns - fetch.start_ns) / 1e6
    assert attributes["kafka_py.local.time_ms"] < attributes["kafka_py.remote.time_ms"]
    assert attributes["kafka_py.request.kind"] == "FetchConsumer"
    (parked, from_ns), (completed, until_ns) = fetch.events
    assert (parked, completed) == ("parked", "completed")
    assert fetch.start_ns <= from_ns <= until_ns <= fetch.end_ns
    assert (until_ns - from_ns) / 1e6 == pytest.approx(attributes["kafka_py.remote.time_ms"], abs=0.01)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_every_request_of_the_sample_is_a_span(receiver: OtlpReceiver, protocol: str) -> None:
    endpoint = receiver.http_endpoint if protocol == "http/protobuf" else receiver.grpc_endpoint

    async def run(folder: str) -> None:
        broker = await traced_broker(
            folder, endpoint, protocol=protocol, headers="Authorization=Bearer abc, x=1"
        )
        began_ns, port = time.time_ns(), broker.port
        await requests_of_every_kind(broker)
        await broker.until(lambda: len(receiver.spans("Fetch")) == 1 and len(receiver.spans("Produce")) == 2)
        await broker.stop()
        check_spans(receiver, began_ns, port)
        assert receiver.headers[0]["authorization"] == "Bearer abc" and receiver.headers[0]["x"] == "1"

    in_folder(run)()


def test_what_waits_is_sent_when_the_broker_stops(receiver: OtlpReceiver) -> None:
    async def run(folder: str) -> None:
        broker = await traced_broker(
            folder, receiver.http_endpoint, principal="true", service_name="shop"
        )
        await broker.ask(MetadataRequest(topics=None), 5)
        await broker.stop()
        span = receiver.spans("Metadata")[-1]
        assert span.attributes["kafka_py.principal"] == "User:ANONYMOUS" and span.resource["service.name"] == "shop"

    in_folder(run)()


def test_only_a_share_of_the_requests_is_traced(receiver: OtlpReceiver) -> None:
    async def run(folder: str) -> None:
        broker = await traced_broker(folder, receiver.http_endpoint, sampling_ratio="0.2")
        for _ in range(500):
            await broker.ask(MetadataRequest(topics=[]), 5)
        await broker.stop()
        assert 50 <= len(receiver.spans("Metadata")) <= 160

    in_folder(run)()


def test_opentelemetrys_variables_say_what_the_settings_leave_open(
    receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.grpc_endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from-the-environment")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_on")

    async def run(folder: str) -> None:
        broker = LocalBroker(folder, FakeZookeeper(), {"kafka_py.tracing.enabled": "true"})
        await broker.start()
        await broker.ask(MetadataRequest(topics=[]), 5)
        await broker.stop()
        resource = receiver.spans("Metadata")[-1].resource
        assert resource["service.name"] == "from-the-environment"
        assert resource["deployment.environment.name"] == "test"

    in_folder(run)()


def test_a_collector_that_hangs_costs_spans_and_no_request(
    receiver: OtlpReceiver, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    receiver.released.clear()

    async def run(folder: str) -> None:
        broker = await traced_broker(folder, receiver.http_endpoint)
        began = time.monotonic()
        for _ in range(MOST_QUEUED + 500):
            await broker.ask(MetadataRequest(topics=[]), 5)
        assert time.monotonic() - began < 20
        export = broker.server.observation.span_export
        assert export is not None
        await broker.until(lambda: export.failed)
        assert len(export.sampler.queue) <= MOST_QUEUED and export.sampler.dropped > 0
        receiver.released.set()
        await broker.until(lambda: export.exported)
        await broker.stop()

    with caplog.at_level(logging.INFO):
        in_folder(run)()
    told = [each.getMessage() for each in caplog.records if "ollector" in each.getMessage()]
    assert [text.split(",")[0].split(";")[0] for text in told] == [
        "The collector takes no traces", "The collector takes traces again",
    ]  # fmt: skip
    assert not [each for each in caplog.records if each.name.startswith("opentelemetry")]


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_collector_that_is_down_is_one_line_of_the_log(
    receiver: OtlpReceiver, caplog: pytest.LogCaptureFixture, protocol: str
) -> None:
    async def run(folder: str) -> None:
        broker = await traced_broker(folder, "http://127.0.0.1:9", protocol=protocol)
        for _ in range(200):
            await broker.ask(MetadataRequest(topics=[]), 5)
        began = time.monotonic()
        await broker.stop()
        assert time.monotonic() - began < 10

    with caplog.at_level(logging.INFO):
        in_folder(run)()
    told = [each for each in caplog.records if "ollector" in each.getMessage() or "opentelemetry" in each.name]
    assert len(told) <= 1
    assert all("takes no traces" in each.getMessage() for each in told)


def test_names_that_are_not_unicode_keep_no_other_span_back(receiver: OtlpReceiver) -> None:
    async def run(folder: str) -> None:
        broker = await traced_broker(folder, receiver.http_endpoint)
        odd = await broker.connect("<script>\x00\U0001f600" + "x" * 9000)
        await odd.send(MetadataRequest(topics=[]), 5)
        await broker.ask(MetadataRequest(topics=[]), 5)
        odd.close()
        await broker.stop()
        ids = [span.attributes["messaging.client.id"] for span in receiver.spans("Metadata")]
        assert ids[-1] == "test"
        assert ids[-2].startswith("<script>\x00\U0001f600x") and len(ids[-2]) == 256

    in_folder(run)()


def test_nothing_of_opentelemetry_is_imported_while_traces_are_off() -> None:
    program = (
        "import sys, kafka_py.broker.server\n"
        "loaded = [name for name in sys.modules if name.split('.')[0] in ('opentelemetry', 'grpc', 'google')]\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, receiver: OtlpReceiver) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    monkeypatch.delitem(sys.modules, "kafka_py.broker.observe.tracing.exporting", raising=False)
    monkeypatch.delattr("kafka_py.broker.observe.tracing.exporting", raising=False)

    async def run(folder: str) -> None:
        settings = {"kafka_py.tracing.enabled": "true", "zookeeper.connect": "x:1", "log.dirs": folder}
        server = KafkaServer(BrokerConfig.parse(settings), ServerEnvironment(session=FakeZookeeper().session()))
        with pytest.raises(ConfigError, match=r"kafka_py.tracing.enabled needs the extra: .* 'kafka_py\[otel\]'"):
            await server.observation.start(lambda *_: None)

    in_folder(run)()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_opentelemetrys_own_collector_understands_the_spans(
    receiver: OtlpReceiver, tmp_path: Path, protocol: str
) -> None:
    try:
        collector = OtelCollector(tmp_path, receiver.http_endpoint)
    except Unavailable as missing:
        pytest.skip(str(missing))

    async def run(folder: str) -> None:
        endpoint = collector.grpc_endpoint if protocol == "grpc" else collector.http_endpoint
        broker = await traced_broker(folder, endpoint, protocol=protocol)
        began_ns, port = time.time_ns(), broker.port
        await requests_of_every_kind(broker)
        await broker.until(lambda: len(receiver.spans("Fetch")) == 1 and len(receiver.spans("Produce")) == 2)
        await broker.stop()
        check_spans(receiver, began_ns, port)

    with collector:
        in_folder(run)()
