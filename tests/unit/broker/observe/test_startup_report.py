"""What a broker says of itself when it has come up."""

from kafka_py import KAFKA_VERSION
from kafka_py.broker.observe.startup_report import Started, report_lines, version_line
from kafka_py.broker.settings.configs import BrokerConfig, warnings_of
from kafka_py.log.loading.log_directories import LoadReport

CLEAN = LoadReport("/a", 12, True, 34.4, None)
TORN = LoadReport("/b", 1, False, 1200.0, None)
EMPTY = LoadReport("/c", 0, False, 0.2, None)
BROKEN = LoadReport("/d", 0, False, 1.0, OSError(5, "I/O error"))


def started(*log_dirs: LoadReport, metrics: str | None = None) -> Started:
    return Started(3, "Cl-id", ["PLAINTEXT://h:9092", "SSL://h:9093"], log_dirs, metrics, 640.4)


def test_one_line_says_what_runs_where() -> None:
    line = list(report_lines(started(CLEAN, BROKEN, metrics="http://127.0.0.1:7071/metrics")))[-1]
    for words in (
        "Broker 3 of cluster Cl-id", f"(Kafka {KAFKA_VERSION})", "listeners PLAINTEXT://h:9092,SSL://h:9093",
        "log.dirs /a,", "metrics at http://127.0.0.1:7071/metrics", "up in 640ms",
    ):  # fmt: skip
        assert words in line
    assert "/d" not in line
    assert "metrics" not in list(report_lines(started(CLEAN)))[-1]


def test_each_directory_has_its_logs_its_last_stop_and_its_time() -> None:
    assert list(report_lines(started(CLEAN, TORN, EMPTY, BROKEN)))[:-1] == [
        "Loaded 12 logs in 34ms after a clean stop from /a",
        "Loaded 1 log in 1200ms after an unclean stop from /b",
        "Loaded 0 logs in 0ms from /c",
        "Log directory /d has failed: [Errno 5] I/O error",
    ]


def test_the_first_line_has_the_version() -> None:
    assert KAFKA_VERSION in version_line()


def test_deprecated_settings_are_named() -> None:
    given = {"zookeeper.connect": "z:1", "host.name": "h", "quota.producer.default": "5", "port": "9092"}
    warnings = list(warnings_of(BrokerConfig.parse(given)))
    assert warnings == [
        *(f"Deprecated setting {name}: it still works." for name in ("host.name", "quota.producer.default", "port")),
    ]
