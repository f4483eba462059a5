"""Metric tables: plain integers in, JMX beans out."""

import math

import pytest

from kafka_py.base.meters import MetricRegistry, MetricTable, mbean_name
from kafka_py.base.metric_rows import Counter, Distribution, Gauge, Rate, Sampled, Timing, Total


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def wall_ms(self) -> int:
        return int(self.now)

    def monotonic_ms(self) -> float:
        return self.now

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000


class TopicMetrics(MetricTable, group="kafka.server:type=BrokerTopicMetrics"):
    bytes_in = Rate("BytesInPerSec", unit="bytes", tags=("topic",), about="Appended by producers, as compressed.")
    replication_in = Rate("ReplicationBytesInPerSec", unit="bytes", about="Fetched as a follower.")


class PartitionMetrics(MetricTable, group="kafka.log:type=Log"):
    size = Gauge("Size", of=lambda owner: owner.size, tags=("topic", "partition"))


class RequestMetrics(MetricTable, group="kafka.network:type=RequestMetrics"):
    total_time = Distribution("TotalTimeMs", tags=("request",))
    flush_time = Timing("FlushTimeMs", tags=("request",))
    open = Counter("Open", tags=("request",))
    queue = Gauge("QueueSize", tags=("request",))


class SocketMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True, tags=("listener",)):
    requests = Total("request-total", rate="request-rate")
    connections = Gauge("connection-count")
    sizes = Sampled(avg="request-size-avg", max="request-size-max")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def registry(clock: Clock) -> MetricRegistry:
    return MetricRegistry(clock)


def beans(registry: MetricRegistry) -> dict[str, dict[str, object]]:
    return {reading.mbean: dict(reading.attributes) for reading in registry.read()}


def test_a_rate_is_an_integer_of_the_instance(registry: MetricRegistry) -> None:
    metrics = TopicMetrics(registry, topic="t")
    assert metrics.bytes_in == 0
    metrics.bytes_in += 512
    metrics.bytes_in += 1
    assert metrics.bytes_in == 513
    assert metrics.__dict__["bytes_in"] == 513
    assert TopicMetrics(registry, topic="u").bytes_in == 0


def test_listed_under_the_jmx_name_with_its_tags(registry: MetricRegistry) -> None:
    metrics = TopicMetrics(registry, topic="t")
    metrics.bytes_in += 7
    assert beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t"]["Count"] == 7


def test_a_tagged_rate_is_listed_from_its_first_use_and_the_broker_wide_one_always(registry: MetricRegistry) -> None:
    TopicMetrics(registry)
    TopicMetrics(registry, topic="t")
    assert set(beans(registry)) == {
        "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec",
        "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec",
    }


def test_a_tagged_table_has_only_the_rows_with_these_tags(registry: MetricRegistry) -> None:
    metrics = TopicMetrics(registry, topic="t")
    assert [row.name for row in metrics.rows()] == ["BytesInPerSec"]


def test_removed_with_the_thing_measured(registry: MetricRegistry) -> None:
    metrics = TopicMetrics(registry, topic="t")
    metrics.bytes_in += 7
    metrics.close()
    metrics.close()
    assert beans(registry) == {}


def test_a_gauge_reads_its_owner(registry: MetricRegistry) -> None:
    class Log:
        size = 10

    log = Log()
    metrics = PartitionMetrics(registry, log, topic="t", partition="0")
    name = "kafka.log:type=Log,name=Size,topic=t,partition=0"
    assert beans(registry)[name] == {"Value": 10}
    log.size = 11
    assert beans(registry)[name] == {"Value": 11}
    assert metrics.size == 11


def test_a_gauge_holds_a_value_or_a_function(registry: MetricRegistry) -> None:
    metrics = RequestMetrics(registry)
    name = "kafka.network:type=RequestMetrics,name=QueueSize"
    assert beans(registry)[name] == {"Value": 0}
    metrics.queue = 4
    assert beans(registry)[name] == {"Value": 4}
    metrics.queue = lambda: 5
    assert beans(registry)[name] == {"Value": 5}


def test_moving_averages_follow_the_count(registry: MetricRegistry, clock: Clock) -> None:
    metrics = TopicMetrics(registry)
    for _ in range(12):
        clock.now += 5_000
        metrics.bytes_in += 500
        registry.tick()
    values = beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]
    assert values["MeanRate"] == pytest.approx(100)
    assert values["OneMinuteRate"] == pytest.approx(100)
    for _ in range(12):  # a minute of silence: the 1-minute average falls to 1/e, the 15-minute one hardly
        clock.now += 5_000
        registry.tick()
    values = beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]
    assert values["OneMinuteRate"] == pytest.approx(100 / math.e, rel=1e-6)
    assert values["FifteenMinuteRate"] == pytest.approx(100 * math.exp(-1 / 15), rel=1e-6)
    assert values["EventType"] == "bytes"


def test_a_window_that_ends_late_is_as_long_as_it_was(registry: MetricRegistry, clock: Clock) -> None:
    metrics = TopicMetrics(registry)
    for seconds in (5, 12, 20, 5, 7):
        clock.now += seconds * 1000
        metrics.bytes_in += seconds * 100
        registry.tick()
        values = beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]
        assert [values[f"{name}MinuteRate"] for name in ("One", "Five", "Fifteen")] == pytest.approx([100] * 3)
    clock.now += 60_000
    registry.tick()
    values = beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]
    assert values["OneMinuteRate"] == pytest.approx(100 / math.e)


def test_the_first_window_of_a_new_table_may_be_short(registry: MetricRegistry, clock: Clock) -> None:
    metrics = TopicMetrics(registry)
    metrics.bytes_in += 1
    clock.now += 1
    registry.tick()
    assert beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]["OneMinuteRate"] == 1 / 5


def test_what_was_only_noted_down_is_in_the_averages(registry: MetricRegistry, clock: Clock) -> None:
    class Noted(TopicMetrics):
        def settle(self) -> None:
            self.bytes_in = 500

    Noted(registry)
    clock.now += 5_000
    registry.tick()
    assert beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]["OneMinuteRate"] == 100


def test_each_row_is_moved_on_at_its_own_time(registry: MetricRegistry, clock: Clock) -> None:
    metrics = SocketMetrics(registry)
    for _ in range(3):
        started_ms = float(clock.now)
        for _ in metrics.ticking():
            clock.now += 4_000  # other work
            metrics.requests += 4_000
        rest_ms = round(30_000 - (clock.now - started_ms))
        clock.now += rest_ms
        metrics.requests += rest_ms
    values = beans(registry)["kafka.server:type=socket-server-metrics"]
    assert values["request-rate"] == pytest.approx(1000, rel=1e-3)


def test_a_histogram_knows_extremes_mean_and_percentiles(registry: MetricRegistry) -> None:
    metrics = RequestMetrics(registry, request="Fetch")
    for value in range(1, 1001):
        metrics.total_time.update(value)
    values = beans(registry)["kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Fetch"]
    assert (values["Count"], values["Min"], values["Max"], values["Mean"]) == (1000, 1, 1000, 500.5)
    assert values["50thPercentile"] == pytest.approx(500, rel=0.05)
    assert values["999thPercentile"] == pytest.approx(999, rel=0.05)
    assert values["StdDev"] == pytest.approx(288.8, rel=0.01)


def test_an_empty_histogram_reads_as_zeroes(registry: MetricRegistry) -> None:
    metrics = RequestMetrics(registry, request="Fetch")
    assert set(metrics.total_time.read().values()) == {0.0}
    assert metrics.total_time.read()["50thPercentile"] == 0.0


def test_recent_values_weigh_more(registry: MetricRegistry, clock: Clock) -> None:
    histogram = RequestMetrics(registry, request="Fetch").total_time
    for _ in range(1_000):
        histogram.update(1)
    for _ in range(60):  # five minutes
        clock.now += 5_000
        registry.tick()
    for _ in range(100):
        histogram.update(50)
    assert histogram.read()["50thPercentile"] == 50
    assert histogram.count == 1_100


def test_many_different_values_take_bounded_memory(registry: MetricRegistry) -> None:
    histogram = RequestMetrics(registry, request="Fetch").total_time
    for value in range(100_000):
        histogram.update(value)
    assert len(histogram._buckets) < 2_000
    assert histogram.read()["50thPercentile"] == pytest.approx(50_000, rel=0.05)


def test_a_timer_is_a_histogram_with_a_rate(registry: MetricRegistry, clock: Clock) -> None:
    metrics = RequestMetrics(registry, request="Fetch")
    clock.now += 5_000
    for _ in range(10):
        metrics.flush_time.update(2)
    registry.tick()
    values = beans(registry)["kafka.network:type=RequestMetrics,name=FlushTimeMs,request=Fetch"]
    assert (values["Count"], values["OneMinuteRate"], values["Max"]) == (10, 2.0, 2)


def test_others_have_the_loop_before_each_row_of_a_table_is_moved_on(registry: MetricRegistry, clock: Clock) -> None:
    metrics = TopicMetrics(registry)
    metrics.bytes_in += 500
    clock.now += 5_000
    steps = metrics.ticking()
    assert sum(1 for _ in steps) == len(metrics.rows()) > 1
    assert beans(registry)["kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec"]["OneMinuteRate"] == 100


def test_attributes_of_one_bean(registry: MetricRegistry, clock: Clock) -> None:
    metrics = SocketMetrics(registry, listener="PLAINTEXT")
    metrics.requests += 60
    metrics.connections = 3
    metrics.sizes.update(10)
    metrics.sizes.update(30)
    clock.now += 30_000
    registry.tick()
    values = beans(registry)["kafka.server:type=socket-server-metrics,listener=PLAINTEXT"]
    assert values["request-total"] == 60
    assert values["request-rate"] == pytest.approx(2.0)
    assert values["connection-count"] == 3
    assert (values["request-size-avg"], values["request-size-max"]) == (20, 30)


def test_samples_forget_after_half_a_minute(registry: MetricRegistry) -> None:
    metrics = SocketMetrics(registry)
    metrics.sizes.update(10)
    for _ in range(7):
        registry.tick()
    assert math.isnan(metrics.sizes.average)
    assert math.isnan(metrics.sizes.greatest)


def test_names_are_quoted_as_jmx_wants_it() -> None:
    group = "kafka.server:type=Request"
    assert mbean_name(group, "", {"user": "", "client-id": "a b-1%2"}) == group + ",client-id=a b-1%2"
    assert mbean_name(group, "", {"client-id": 'x*"?,'}) == group + ',client-id="x\\*\\"\\?,"'
