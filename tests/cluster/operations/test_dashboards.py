"""A real Prometheus on three brokers at work: every expression of dashboards and rules has data, alerts see a fault."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shutil
import sys
import threading
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_py.cli import configs
from kafka_py.cli.umbrella import dashboards
from kafka_py.clients import Consumer, Producer
from kafka_py.operations.dashboards import rules
from kafka_py.operations.dashboards.files import RULES_FILE, WantedFiles, all_dashboards
from kafka_py.operations.dashboards.panels import Dashboard, PanelKind
from kafka_py.operations.dashboards.scopes import DASHBOARD, resolved, rules_scope
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import NotReady, Process, free_port, python_environment, wait_until

pytestmark = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")

DEADLINE_S = 90
SETTINGS = {
    "metrics.http.port": 0, "offsets.topic.replication.factor": 3, "offsets.topic.num.partitions": 6,
    "min.insync.replicas": 2,
}  # fmt: skip
VALUES = {"job": "kafka", "exporter": "kafka-exporter", "instance": ".+", "cluster": ".*", "topic": "orders|payments",
          "group": "billing|idle", "__rate_interval": "15s"}  # fmt: skip


class PrometheusServer:
    """Debian's Prometheus on a free port; scrapes every second."""

    def __init__(self, folder: Path, jobs: dict[str, list[str]], rules_file: Path) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        settings = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules_file)],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": targets, "labels": {"cluster": "test"}}]}
                for job, targets in jobs.items()
            ],
        }
        config = folder / "prometheus.yml"
        config.write_text(json.dumps(settings))
        self._process = Process(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
             f"--web.listen-address={self.address}", "--log.level=warn"],
            folder / "prometheus.log",
        )  # fmt: skip

    def __enter__(self) -> PrometheusServer:
        self._process.start()
        self._process.wait_for(self._is_ready, 30)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def _is_ready(self) -> bool:
        try:
            return bool(urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5).status == 200)
        except OSError:
            return False

    def ask(self, path: str, **parameters: str) -> Any:
        """The `data` of an answer of its API. Raises OSError, also for an expression that it refuses."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}?{query}", timeout=30) as response:
            return json.load(response)["data"]

    def has_data(self, expression: str) -> bool:
        """Whether any series has a number; NaN is none."""
        return any(each["value"][1] != "NaN" for each in self.ask("query", query=expression)["result"])

    def without_data(self, expressions: dict[str, str]) -> dict[str, str]:
        """Those of the named expressions that still have none at the deadline."""
        left = dict(expressions)

        def ask_the_rest() -> bool:
            for name, expression in list(left.items()):
                if self.has_data(expression):
                    del left[name]
            return not left

        with contextlib.suppress(NotReady):
            wait_until(ask_the_rest, DEADLINE_S)
        return left


class Monitored(NamedTuple):
    cluster: KafkaCluster
    prometheus: PrometheusServer
    pages: list[str]


def page_of(log: str) -> str:
    """host:port of a broker's metrics, by its start-up line."""
    [found] = re.findall(r"metrics at http://(\S+)/metrics", log)
    return str(found)


@contextlib.contextmanager
def exporter(folder: Path, bootstrap_servers: str) -> Iterator[str]:
    """host:port of its page."""
    command = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "exporter", "--port", "0", "--interval", "1"]
    command += ["--bootstrap-server", bootstrap_servers]
    log = folder / f"exporter-{secrets.token_hex(4)}.log"
    with Process(command, log, environment=python_environment()) as process:
        said = re.compile(r"http://(\S+)/metrics")
        yield process.wait_for(lambda: said.search(process.output()))[1]


class Traffic:
    """Records to two topics and a group that reads them, until the end; another group has read once and left."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = {"bootstrap.servers": bootstrap_servers}
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._write, self._read)]

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def _write(self) -> None:
        with Producer({**self._servers, "client.id": "writer", "acks": "all"}) as producer:
            while not self._ended.wait(0.1):
                for topic in ("orders", "payments"):
                    for partition in range(6):
                        producer.send(topic, value=bytes(100), partition=partition)
                producer.flush()

    def _read(self) -> None:
        settings = {"auto.offset.reset": "earliest", "client.id": "reader", "enable.auto.commit": False}
        for group in ("idle", "billing"):
            with Consumer({**self._servers, **settings, "group.id": group}) as consumer:
                consumer.subscribe(["orders", "payments"])
                while not self._ended.is_set():
                    if consumer.poll(1.0):
                        consumer.commit()
                        if group == "idle":
                            break


def limit_clients(bootstrap_servers: str) -> None:
    """Quotas for every client id: for bytes so small that they throttle."""
    quotas = "producer_byte_rate=5000,consumer_byte_rate=5000,request_percentage=10000"
    arguments = ["--bootstrap-server", bootstrap_servers, "--alter", "--entity-type", "clients", "--entity-default"]
    assert configs.main([*arguments, "--add-config", quotas]) == 0


@pytest.fixture(scope="module")
def monitored(
    kafka_cluster_factory: Callable[..., KafkaCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Monitored]:
    folder = tmp_path_factory.mktemp("monitoring")
    assert dashboards.main(["--out", str(folder)]) == 0
    with kafka_cluster_factory(brokers=3, settings=SETTINGS) as cluster:
        limit_clients(cluster.bootstrap_servers)
        for topic in ("orders", "payments"):
            cluster.create_topic(topic, 6, replication_factor=3)
        pages = [page_of(broker.log.read_text()) for broker in cluster.brokers]
        with (
            Traffic(cluster.bootstrap_servers),
            exporter(folder, cluster.bootstrap_servers) as page,
            exporter(folder, cluster.bootstrap_servers) as twin,
            PrometheusServer(
                folder, {"kafka": pages, "kafka-exporter": [page, twin]}, folder / RULES_FILE
            ) as prometheus,
        ):
            yield Monitored(cluster, prometheus, pages)


def chosen(text: str) -> str:
    """With the values of VALUES for variables."""
    return re.sub(r"\$(\w+)", lambda found: VALUES[found[1]], text)


def expressions_of(folder: Path, board: Dashboard) -> dict[str, str]:
    """Panel and query -> expression with the variables' values, from the file that the command wrote."""
    document = json.loads((folder / f"grafana/dashboards/{board.name}.json").read_text())
    return {
        f"{panel['id']} {panel['title']} {target['refId']}": chosen(target["expr"])
        for panel in document["panels"]
        for target in panel.get("targets", ())
    }


BOARDS = all_dashboards(WantedFiles())


@pytest.mark.parametrize("board", BOARDS, ids=[board.name for board in BOARDS])
def test_every_expression_of_a_dashboard_has_data(monitored: Monitored, board: Dashboard, tmp_path: Path) -> None:
    assert dashboards.main(["--out", str(tmp_path), "--grafana-only"]) == 0
    expressions = expressions_of(tmp_path, board)
    assert len(expressions) == sum(len(panel.queries) for panel in board.panels())
    assert monitored.prometheus.without_data(expressions) == {}


@pytest.mark.parametrize("board", BOARDS, ids=[board.name for board in BOARDS])
def test_every_variable_has_values(monitored: Monitored, board: Dashboard) -> None:
    expected = {
        "job": {"kafka"}, "instance": set(monitored.pages), "topic": {"orders", "payments"},
        "exporter": {"kafka-exporter"}, "cluster": {"test"}, "group": {"billing", "idle"},
    }  # fmt: skip

    def values(metric: str, tag: str) -> set[str]:
        return set(monitored.prometheus.ask(f"label/{tag}/values", **{"match[]": chosen(metric)}))

    for name, _, metric, tag, *_ in board.variables:
        wait_until(lambda name=name, metric=metric, tag=tag: expected[name] <= values(metric, tag), DEADLINE_S)


def test_every_rule_has_data_and_no_error(monitored: Monitored) -> None:
    scope = rules_scope("kafka", "kafka-exporter")
    alerts = [alert for each in rules.ALERTS.values() for alert in each]
    expressions = {alert.name: resolved(alert.expression, scope) for alert in alerts}
    expressions |= {each.name: resolved(each.expression, scope) for each in rules.RECORDINGS}
    assert monitored.prometheus.without_data(expressions) == {}
    groups = monitored.prometheus.ask("rules")["groups"]
    health = {rule["name"]: (rule["health"], rule.get("lastError")) for group in groups for rule in group["rules"]}
    assert len(health) == len(alerts) + len(rules.RECORDINGS)
    assert set(health.values()) == {("ok", None)}


def test_two_exporters_count_the_members_of_a_group_once(monitored: Monitored) -> None:
    [panel] = [each for board in BOARDS if board.name == "kafka_py-groups" for each in board.panels()
               if (each.title, each.kind) == ("Members", PanelKind.STAT)]  # fmt: skip
    members = chosen(resolved(panel.queries[0].expression, DASHBOARD))
    seen_twice = 'count(kafka_consumergroup_members{consumergroup="billing"} == 1) == 2'
    wait_until(lambda: monitored.prometheus.has_data(f"{seen_twice} and ({members}) == 1"), DEADLINE_S)


def test_alerts_see_that_a_broker_ends(monitored: Monitored) -> None:
    """Last, as a broker is missing afterwards. They wait for their time before they fire."""
    monitored.cluster.brokers[2].stop()
    seen: dict[str, Any] = {}

    def all_are_seen() -> bool:
        seen.update({each["labels"]["alertname"]: each for each in monitored.prometheus.ask("alerts")["alerts"]})
        return {"KafkaBrokerDown", "KafkaUnderReplicatedPartitions"} <= set(seen)

    wait_until(all_are_seen, DEADLINE_S, "alerts")
    said, page = seen["KafkaBrokerDown"]["annotations"], monitored.pages[2]
    assert said["summary"] == f"The metrics of broker {page} cannot be read"
    assert said["description"].endswith(f"`kafka-py doctor --bootstrap-server BROKER:9092 --metrics {page}`")
