"""Metrics as CSV files, on the console, and by a class of the operator's own."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kafka_py.base.meters import MetricRegistry, MetricTable, Reading
from kafka_py.base.metric_rows import Distribution, Gauge, Rate, Timing, Total
from kafka_py.base.plugins import find_class
from kafka_py.broker.observe.reporters import ConsoleReporter, CsvReporter, file_name, load_reporters
from kafka_py.broker.settings.java_classes import REPORTER_METHODS, class_warnings
from kafka_py.testing.clock import ManualClock

CSV = "kafka.metrics.KafkaCSVMetricsReporter"


class TopicMetrics(MetricTable, group="kafka.server:type=BrokerTopicMetrics"):
    bytes_in = Rate("BytesInPerSec", unit="bytes", tags=("topic",))


class Metrics(MetricTable, group="kafka.log:type=LogFlushStats"):
    flush = Timing("LogFlushRateAndTimeMs")
    wait = Distribution("EventQueueTimeMs")
    size = Gauge("Size")


class SocketMetrics(MetricTable, group="kafka.server:type=socket-server-metrics", attributes=True, tags=("listener",)):
    received = Total("incoming-byte-total", rate="incoming-byte-rate")


class OwnReporter:
    """An operator's class; this test's module is where it lives."""

    made: list["OwnReporter"] = []

    def __init__(self) -> None:
        self.configs: Mapping[str, object] = {}
        self.made.append(self)

    def configure(self, configs: Mapping[str, object]) -> None:
        self.configs = configs

    def report(self, readings: Sequence[Reading], now_ms: int) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def registry() -> MetricRegistry:
    made = MetricRegistry(ManualClock())
    TopicMetrics(made).bytes_in += 7
    TopicMetrics(made, topic="t").bytes_in += 5
    TopicMetrics(made, topic="u,v").bytes_in += 2
    Metrics(made).flush.update(3)
    SocketMetrics(made, listener="PLAINTEXT").received += 9
    return made


def reporter(folder: Path, enabled: str = "true") -> CsvReporter:
    made = CsvReporter()
    made.configure({"kafka.csv.metrics.reporter.enabled": enabled, "kafka.csv.metrics.dir": str(folder)})
    return made


def test_a_file_per_metric_with_the_classic_columns(registry: MetricRegistry, tmp_path: Path) -> None:
    csv = reporter(tmp_path / "csv")
    csv.report(list(registry.read()), 10_000)
    csv.report(list(registry.read()), 15_500)
    files = {path.name: path.read_text().splitlines() for path in (tmp_path / "csv").iterdir()}
    whole = files["kafka.server.BrokerTopicMetrics.BytesInPerSec.csv"]
    assert whole[0] == "# time,count,1 min rate,mean rate,5 min rate,15 min rate"
    assert [line.split(",")[:2] for line in whole[1:]] == [["0", "7"], ["5", "7"]]
    by_topic = files["kafka.server.BrokerTopicMetrics.BytesInPerSec-topic.csv"]
    assert by_topic[0].startswith("# time,topic,count,")
    assert by_topic[1].startswith("0,t,5,") and by_topic[2].startswith('0,"u,v",2,')
    assert files["kafka.log.LogFlushStats.LogFlushRateAndTimeMs.csv"][0] == (
        "# time,min,max,mean,median,stddev,95%,99%,99.9%"
    )
    assert files["kafka.log.LogFlushStats.Size.csv"] == ["# time,value", "0,0", "5,0"]
    assert files["kafka.server.socket-server-metrics-listener.csv"][1] == "0,PLAINTEXT,9.0,9"


def test_a_new_run_begins_its_files_anew(registry: MetricRegistry, tmp_path: Path) -> None:
    for _ in range(2):
        reporter(tmp_path).report(list(registry.read()), 0)
    assert len((tmp_path / "kafka.log.LogFlushStats.Size.csv").read_text().splitlines()) == 2


def test_it_writes_only_when_it_is_enabled(registry: MetricRegistry, tmp_path: Path) -> None:
    reporter(tmp_path / "csv", "false").report(list(registry.read()), 0)
    assert not (tmp_path / "csv").exists()


def test_a_name_with_a_slash_is_no_path() -> None:
    assert "/" not in file_name(Reading("m", {"Value": 1}, "a/b:type=c", {"d/e": "f"}, None))


def test_the_console_shows_what_was_used(registry: MetricRegistry) -> None:
    out = io.StringIO()
    ConsoleReporter(lambda: out).report(list(registry.read()), 0)
    lines = out.getvalue().splitlines()
    at = lines.index("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=t")
    assert lines[at + 1].startswith("    count = 5, 1 min rate = ")
    assert not [line for line in lines if "EventQueueTimeMs" in line]


def test_reporters_are_the_classic_one_or_python_classes() -> None:
    own = f"{__name__}.OwnReporter"
    names = [CSV, own, "com.example.JavaReporter", "org.apache.kafka.common.metrics.JmxReporter", "", own]
    made = load_reporters(names, {"a": "b"})
    assert [type(each).__name__ for each in made] == ["CsvReporter", "OwnReporter"]
    assert OwnReporter.made[-1].configs == {"a": "b"}


@pytest.mark.parametrize("name", ["json.loads", "no_such_module.X", "json", "", "a..b", "kafka_py.broker"])
def test_what_is_no_reporter_is_none(name: str) -> None:
    assert find_class(name, REPORTER_METHODS) is None


def test_a_python_class_is_nothing_to_warn_about() -> None:
    warn = class_warnings({"metric.reporters": f"{__name__}.OwnReporter", "kafka.metrics.reporters": CSV})
    assert list(warn) == []
    assert len(list(class_warnings({"kafka.metrics.reporters": "com.example.JavaReporter"}))) == 1
