"""The metrics in Prometheus' text format, under the names of the usual JMX exporter rules."""

import math
import re
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Counter, Distribution, Gauge, Rate, Sampled, Timing, Total, Value
from kafka_py.broker.observe.prometheus import Exposition
from kafka_py.net.scraping.exposition import escaped, fit_name, number_text
from kafka_py.testing.clock import ManualClock

SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')


class TopicMetrics(MetricTable, group="kafka.server:type=BrokerTopicMetrics"):
    bytes_in = Rate("BytesInPerSec", unit="bytes", tags=("topic",), about="Bytes in.")


class RequestMetrics(MetricTable, group="kafka.network:type=RequestMetrics", tags=("request",)):
    total_time = Distribution("TotalTimeMs", about="The whole time.")
    election = Timing("LeaderElectionRateAndTimeMs")
    opened = Counter("Opened")


class ServerMetrics(MetricTable, group="kafka.server:type=KafkaServer"):
    state = Gauge("BrokerState", about='A "state" \\ with\na line end.')
    cluster_id = Gauge("ClusterId")
    idle = Gauge("NetworkProcessorAvgIdlePercent")
    handlers = Rate("RequestHandlerAvgIdlePercent", per_ns=True)


class SocketMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True, tags=("listener",)):
    received = Total("incoming-byte-total", rate="incoming-byte-rate")
    connections = Gauge("connection-count")
    sizes = Sampled(avg="request-size-avg", max="request-size-max")


class ProcessMetrics(MetricTable, group="kafka_py:type=process", attributes=True):
    cpu = Gauge("cpu_seconds_total")


class LogMetrics(Fleet, group="kafka.log:type=Log", tags=("topic", "partition")):
    size = Gauge("Size", of=lambda log: log["size"], about="Bytes.")
    start = Gauge("LogStartOffset", of=lambda log: log["start"])


@pytest.fixture
def registry() -> MetricRegistry:
    return MetricRegistry(ManualClock())


def scrape(registry: MetricRegistry) -> str:
    exposition = Exposition()
    for _ in exposition.render(registry):
        pass
    return exposition.text


def samples(registry: MetricRegistry) -> dict[str, float]:
    """Checks the format line by line: each family is described once, just before its samples."""
    found: dict[str, float] = {}
    described: list[str] = []
    for line in scrape(registry).splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in described
            described.append(name)
        elif line.startswith("# TYPE "):
            assert line.split(" ")[2] == described[-1] and line.split(" ")[3] in ("counter", "gauge")
        else:
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            assert match[1] == described[-1], line
            key = line.rpartition(" ")[0]
            assert key not in found
            found[key] = float(match[3])
    return found


def test_a_rate_is_a_counter_per_topic_and_of_all(registry: MetricRegistry) -> None:
    TopicMetrics(registry).bytes_in += 7
    TopicMetrics(registry, topic="t").bytes_in += 5
    TopicMetrics(registry, topic="unused")
    assert samples(registry) == {
        "kafka_server_brokertopicmetrics_bytesin_total": 7,
        'kafka_server_brokertopicmetrics_bytesin_total{topic="t"}': 5,
    }
    assert scrape(registry).startswith(
        "# HELP kafka_server_brokertopicmetrics_bytesin_total Bytes in.\n"
        "# TYPE kafka_server_brokertopicmetrics_bytesin_total counter\n"
    )


def test_histograms_and_timers_have_a_count_and_quantiles(registry: MetricRegistry) -> None:
    metrics = RequestMetrics(registry, request="Fetch")
    metrics.total_time.update(3)
    metrics.election.update(4)
    RequestMetrics(registry, request="Unused")
    found = samples(registry)
    name = "kafka_network_requestmetrics_totaltimems"
    assert found[name + '_count{request="Fetch"}'] == 1
    assert found[name + '{request="Fetch",quantile="0.99"}'] == 3
    assert found[name + '{request="Fetch",quantile="0.999"}'] == 3
    assert found['kafka_network_requestmetrics_leaderelectionrateandtimems_count{request="Fetch"}'] == 1
    assert not [key for key in found if "Unused" in key]


def test_gauges_of_all_kinds(registry: MetricRegistry) -> None:
    metrics = ServerMetrics(registry)
    metrics.state = True
    metrics.cluster_id = 'a"b'
    metrics.idle = lambda: 0.5
    metrics.handlers += 1
    found = samples(registry)
    assert found["kafka_server_kafkaserver_brokerstate"] == 1
    assert found['kafka_server_kafkaserver_clusterid_info{value="a\\"b"}'] == 1
    assert found["kafka_server_kafkaserver_networkprocessoravgidlepercent"] == 0.5
    assert found["kafka_server_kafkaserver_networkprocessoravgidle_percent"] == 0.5
    assert "kafka_server_kafkaserver_requesthandleravgidle_percent" in found
    assert '# HELP kafka_server_kafkaserver_brokerstate A "state" \\\\ with a line end.\n' in scrape(registry)


def test_attributes_of_one_bean(registry: MetricRegistry) -> None:
    metrics = SocketMetrics(registry, listener="PLAINTEXT")
    metrics.received += 9
    metrics.connections = 2
    ProcessMetrics(registry).cpu = 1.5
    found = samples(registry)
    labels = '{listener="PLAINTEXT"}'
    assert found["kafka_server_socket_server_metrics_incoming_byte_total" + labels] == 9
    assert found["kafka_server_socket_server_metrics_connection_count" + labels] == 2
    assert found["process_cpu_seconds_total"] == 1.5
    assert "# TYPE process_cpu_seconds_total counter" in scrape(registry)
    assert math.isnan(found["kafka_server_socket_server_metrics_request_size_max" + labels])


def things(*sizes: int) -> Iterator[tuple[tuple[str, str], Any]]:
    for number, size in enumerate(sizes):
        yield ("t", str(number)), {"size": size, "start": 0}


def test_a_fleet_is_read_thing_by_thing(registry: MetricRegistry) -> None:
    LogMetrics(registry, lambda: things(10, 20))
    found = samples(registry)
    assert found['kafka_log_log_size{topic="t",partition="1"}'] == 20
    assert len(found) == 4
    readings = list(registry.read())
    assert readings[0].mbean == "kafka.log:type=Log,name=Size,topic=t,partition=0"
    assert readings[0].attributes == {"Value": 10}
    assert registry.count(one_bean=False) == 4


def test_a_thing_that_has_gone_meanwhile_does_not_hide_the_others(registry: MetricRegistry) -> None:
    rows: list[dict[str, int]] = [{"size": 4, "start": 1}, {}, {"size": 5, "start": 0}]
    LogMetrics(registry, lambda: [(("t", str(number)), row) for number, row in enumerate(rows)])
    found = samples(registry)
    assert found['kafka_log_log_size{topic="t",partition="0"}'] == 4
    assert found['kafka_log_log_size{topic="t",partition="2"}'] == 5
    assert found['kafka_log_log_logstartoffset{topic="t",partition="2"}'] == 0
    assert len(found) == 4


def test_a_metric_that_fails_does_not_hide_the_others(registry: MetricRegistry) -> None:
    metrics = ServerMetrics(registry)
    metrics.state = lambda: 1 // 0
    metrics.idle = 1.0
    assert samples(registry)["kafka_server_kafkaserver_networkprocessoravgidlepercent"] == 1


def test_others_get_turns_in_the_middle_of_many_partitions(registry: MetricRegistry) -> None:
    LogMetrics(registry, lambda: things(*range(1000)))
    assert len(list(Exposition().render(registry))) == 42  # 25 at a time, the table itself, and what was noted down


def test_others_get_turns_after_each_of_many_tables(registry: MetricRegistry) -> None:
    for number in range(100):
        TopicMetrics(registry, topic=f"t{number}").bytes_in += 1
    assert len(list(Exposition().render(registry))) == 200  # each is settled, and each is read
    assert len(samples(registry)) == 100


class CountedMetrics(MetricTable, group="kafka.server:type=ReplicaManager"):
    leaders = Gauge("LeaderCount", of=lambda _: 1 // 0)
    partitions = Gauge("PartitionCount", of=lambda owner: owner["partitions"])

    def counting(self) -> Generator[None, None, dict[str, Value]]:
        for step in range(self.owner["steps"]):  # type: ignore[index]
            self.owner["looked_at"] = step  # type: ignore[index]
            yield
        return {"leaders": 10 // self.owner["divisor"]}  # type: ignore[index]


def test_what_a_table_counts_in_steps_is_its_value(registry: MetricRegistry) -> None:
    CountedMetrics(registry, {"partitions": 7, "steps": 50, "divisor": 2})
    found = samples(registry)
    assert found["kafka_server_replicamanager_leadercount"] == 5
    assert found["kafka_server_replicamanager_partitioncount"] == 7
    assert len(list(Exposition().render(registry))) > 50


def test_a_table_that_cannot_count_is_read_row_by_row(registry: MetricRegistry) -> None:
    CountedMetrics(registry, {"partitions": 7, "steps": 2, "divisor": 0})
    ServerMetrics(registry).state = 3
    found = samples(registry)
    assert found["kafka_server_replicamanager_partitioncount"] == 7
    assert found["kafka_server_kafkaserver_brokerstate"] == 3
    assert "kafka_server_replicamanager_leadercount" not in found


def test_each_thing_of_a_fleet_has_its_own_values(registry: MetricRegistry) -> None:
    names = ['a"b', "100%s", "c\\d", *(f"t{number}" for number in range(60))]
    LogMetrics(registry, lambda: [((name, str(n)), {"size": n, "start": -n}) for n, name in enumerate(names)])
    found = samples(registry)
    for number, name in enumerate(names):
        labels = f'{{topic="{escaped(name)}",partition="{number}"}}'
        assert found[f"kafka_log_log_size{labels}"] == number
        assert found[f"kafka_log_log_logstartoffset{labels}"] == -number
    assert len(found) == 2 * len(names)


def test_label_values_are_escaped() -> None:
    assert escaped('a"b\\c\nd') == 'a\\"b\\\\c\\nd'
    assert fit_name("client-id") == "client_id"


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1"), (0.5, "0.5"), (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN")]
)
def test_numbers(value: float, text: str) -> None:
    assert number_text(value) == text
