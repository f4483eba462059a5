"""The metrics of a client: Kafka's names and groups, its windows, and one value for one question."""

import asyncio
import math

import pytest

from kafka_py.base.metric_rows import Sampled, Total
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.metrics import CLIENT, PRODUCER, TOPIC, ClientMetrics, ClientTable, MetricName


class Clock:
    now = 0.0

    def wall_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000


class Sent(ClientTable, group="producer-metrics", tags=CLIENT):
    records = Total("record-send-total", rate="record-send-rate", about="Records sent.")
    latency = Sampled(avg="request-latency-avg", max="request-latency-max", unit="ms")


class TopicSent(ClientTable, group="producer-topic-metrics", tags=TOPIC):
    records = Total("record-send-total", rate="record-send-rate")
    rebalances = Total("rebalance-total", rate="rebalance-rate-per-hour", per_s=3600.0)


def registry(clock: Clock, **settings: object) -> ClientMetrics:
    names = {name.replace("_", "."): value for name, value in settings.items()}
    return ClientMetrics(ClientOptions.parse({"bootstrap.servers": "h:1", **names}), "me", clock, PRODUCER)


def test_values_have_kafkas_names_groups_and_tags() -> None:
    metrics = registry(Clock())
    Sent(metrics).records += 5
    TopicSent(metrics, "orders").records += 3
    values = metrics.values()
    assert values[MetricName("record-send-total", "producer-metrics", (("client-id", "me"),))] == 5
    tags = (("client-id", "me"), ("topic", "orders"))
    assert values[MetricName("record-send-total", "producer-topic-metrics", tags)] == 3
    assert math.isnan(values.find("request-latency-avg"))
    text = "producer-topic-metrics:record-send-total{client-id=me,topic=orders}"
    assert str(MetricName("record-send-total", "producer-topic-metrics", tags)) == text


def test_find_takes_the_clients_own_metric_before_those_of_its_topics() -> None:
    metrics = registry(Clock())
    Sent(metrics).records += 5
    for topic in ("a", "b"):
        TopicSent(metrics, topic).records += 1
    values = metrics.values()
    assert values.find("record-send-total") == 5
    assert values.find("record-send-total", topic="a") == 1
    assert values.find("record-send-total", "producer-topic-metrics", topic="b", client_id="me") == 1
    with pytest.raises(KeyError, match="2 metrics are called rebalance-total"):
        values.find("rebalance-total")
    with pytest.raises(KeyError, match="0 metrics are called nothing"):
        values.find("nothing")


def test_windows_are_those_of_the_settings() -> None:
    clock = Clock()
    metrics = registry(clock, metrics_sample_window_ms=1000, metrics_num_samples=3)
    sent = Sent(metrics)
    sent.records += 6
    sent.latency.update(7.0)
    assert metrics.values().find("record-send-rate") == pytest.approx(6 / 2.0)  # two past windows that never were
    for second in (1, 2):
        clock.now = second * 1000.0
        metrics.tick()
    assert metrics.values().find("record-send-rate") == pytest.approx(6 / 2.0)
    assert metrics.values().find("request-latency-max") == 7.0
    clock.now = 3000.0
    metrics.tick()
    assert metrics.values().find("record-send-rate") == 0.0
    assert math.isnan(metrics.values().find("request-latency-max"))


def test_a_rate_may_be_per_hour() -> None:
    metrics = registry(Clock())
    TopicSent(metrics, "t").rebalances += 2
    assert metrics.values().find("rebalance-rate-per-hour") == pytest.approx(2 * 3600 / 30)


def test_a_table_that_is_closed_is_not_shown() -> None:
    metrics = registry(Clock())
    table = TopicSent(metrics, "t")
    table.close()
    assert metrics.values() == {}


def test_every_metric_says_what_it_is() -> None:
    metrics = registry(Clock())
    Sent(metrics)
    assert {name.name: about for name, about in metrics.descriptions()}["record-send-rate"] == "Records sent."


def test_the_timer_ends_windows_until_the_client_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        metrics = registry(Clock(), metrics_sample_window_ms=1)
        ticks, twice = [], asyncio.Event()

        def tick() -> None:
            ticks.append(1)
            if len(ticks) == 2:
                twice.set()

        monkeypatch.setattr(metrics, "tick", tick)
        metrics.start()
        metrics.start()
        async with asyncio.timeout(30):
            await twice.wait()
        metrics.stop()
        metrics.stop()
        seen = len(ticks)
        await asyncio.sleep(0.01)
        assert len(ticks) == seen

    asyncio.run(scenario())
