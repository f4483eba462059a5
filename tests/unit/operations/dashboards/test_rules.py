"""The rules by Prometheus' own tool: valid, and each alert fires where it should and only there."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kafka_py.operations.dashboards import rules
from kafka_py.operations.dashboards.alerts import Alert
from kafka_py.operations.dashboards.scopes import rules_scope
from kafka_py.testing.peers import promtool

pytestmark = pytest.mark.skipif(promtool.program() is None, reason="promtool is not installed")

Series = Mapping[str, str]
"""A series -> its samples, as `promtool test rules` writes them."""

HOUR = 60
BROKER = 'job="kafka",instance="a:7071"'
EXPORTER = 'job="kafka-exporter",instance="e:9308"'


class AlertCase(NamedTuple):
    """minutes: when the alert is looked at."""

    name: str
    firing: Series
    quiet: Series
    minutes: int


def steady(value: float, minutes: int = 2 * HOUR) -> str:
    return f"{value:f}+0x{minutes}"


def rising(by: float, minutes: int = 2 * HOUR, start: float = 0) -> str:
    return f"{start:f}+{by:f}x{minutes}"


ONCE = f"0+0x3 {steady(1)}"
"""A counter that is raised once, after the fourth minute."""


def level(name: str, metric: str, bad: float, good: float, minutes: int, labels: str = BROKER) -> AlertCase:
    """An alert about the value of one metric."""
    series = f"{metric}{{{labels}}}"
    return AlertCase(name, {series: steady(bad)}, {series: steady(good)}, minutes)


def event(name: str, metric: str, labels: str = BROKER) -> AlertCase:
    """An alert about a counter that is raised."""
    series = f"{metric}{{{labels}}}"
    return AlertCase(name, {series: ONCE}, {series: steady(7)}, 6)


_REQUESTS = "kafka_network_requestmetrics"
_LISTENER = "kafka_server_sessionexpirelistener_zookeeper"
_P99 = f'{BROKER},quantile="0.99"'
_STATE = f"kafka_server_kafkaserver_brokerstate{{{BROKER}}}"
_SESSION = f"kafka_server_sessionexpirelistener_sessionstate_info{{{BROKER},value="
_GROUP = f'{EXPORTER},consumergroup="billing",topic="orders"'
_LAG = f'kafka_consumergroup_lag{{{_GROUP},partition="0"}}'
_LAG_SUM = f"kafka_consumergroup_lag_sum{{{_GROUP}}}"
_MEMBERS = f'kafka_consumergroup_members{{{EXPORTER},consumergroup="billing"}}'
_TWIN_LAG = _LAG.replace("e:9308", "f:9308")
_LOG = f'kafka_log_log_size{{{BROKER},topic="orders",partition="0"}}'
_FILES = (f"process_open_fds{{{BROKER}}}", f"process_max_fds{{{BROKER}}}")
_CONTROLLERS = (
    f"kafka_controller_kafkacontroller_activecontrollercount{{{BROKER}}}",
    'kafka_controller_kafkacontroller_activecontrollercount{job="kafka",instance="b:7071"}',
)
_FETCH = [
    f'{_REQUESTS}_{part}timems{{{_P99},request="FetchConsumer"}}'
    for part in ("requestqueue", "local", "responsequeue", "responsesend")
]
_WAITING = f'{_REQUESTS}_remotetimems{{{_P99},request="FetchConsumer"}}'
"""Time in which a fetch waits for new records, which is no fault."""

CASES = (
    level("OfflinePartitions", "kafka_controller_kafkacontroller_offlinepartitionscount", 2, 0, 3),
    level("UnderReplicatedPartitions", "kafka_server_replicamanager_underreplicatedpartitions", 1, 0, 6),
    level("PartitionsUnderMinIsr", "kafka_server_replicamanager_underminisrpartitioncount", 1, 0, 2),
    level("ReplicasOffline", "kafka_server_replicamanager_offlinereplicacount", 1, 0, 2),
    AlertCase("NoController", dict.fromkeys(_CONTROLLERS, steady(0)),
              {_CONTROLLERS[0]: steady(0), _CONTROLLERS[1]: steady(1)}, 2),
    AlertCase("SeveralControllers", dict.fromkeys(_CONTROLLERS, steady(1)),
              {_CONTROLLERS[0]: steady(1), _CONTROLLERS[1]: steady(0)}, 2),
    event("UncleanElection", "kafka_controller_controllerstats_uncleanleaderelections_total"),
    level("ControllerQueueLong", "kafka_controller_controllereventmanager_eventqueuesize", 101, 100, 11),
    AlertCase("InSyncSetsFlap", {f"kafka_server_replicamanager_isrshrinks_total{{{BROKER}}}": rising(2)},
              {f"kafka_server_replicamanager_isrshrinks_total{{{BROKER}}}": rising(0.5)}, HOUR),
    level("ReplicasNotCopied", "kafka_server_replicafetchermanager_failedpartitionscount", 1, 0, 6,
          f'{BROKER},clientId="Replica"'),
    level("BrokerDown", "up", 0, 1, 2),
    AlertCase("NoBrokerScraped", {}, {f"up{{{BROKER}}}": steady(0)}, 6),
    AlertCase("BrokerAbsent", {f"kafka_brokers{{{EXPORTER}}}": f"3+0x20 {steady(2)}"},
              {f"kafka_brokers{{{EXPORTER}}}": f"2+0x20 {steady(3)}"}, 25),
    level("LogDirectoryOffline", "kafka_log_logmanager_offlinelogdirectorycount", 1, 0, 1),
    AlertCase("LogsGrow", {_LOG: rising(1e8, start=2e10)}, {_LOG: rising(1e6, start=2e10)}, 75),
    level("RequestQueueLong", "kafka_network_requestchannel_requestqueuesize", 101, 100, 6),
    level("BrokerSaturated", "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", 0.05, 0.2, 11),
    level("EventLoopHeld", "kafka_network_socketserver_looplongeststallms", 1500, 900, 11),
    AlertCase("OpenFilesNearLimit", dict(zip(_FILES, (steady(900), steady(1000)), strict=True)),
              dict(zip(_FILES, (steady(800), steady(1000)), strict=True)), 6),
    level("CleanerDead", "kafka_log_logcleaner_deadthreadcount", 1, 0, 6),
    level("PartitionsUncleanable", "kafka_log_logcleanermanager_uncleanable_partitions_count", 1, 0, 16,
          f'{BROKER},logDirectory="/data"'),
    AlertCase("BackgroundFailures",
              {_STATE: steady(3), f'background_failures_total{{{BROKER},activity="fetchers"}}': f"_x3 {steady(1)}"},
              {_STATE: steady(3)}, 6),
    event("ZooKeeperSessionExpired", f"{_LISTENER}expires_total"),
    AlertCase("ZooKeeperDisconnected", {f'{_SESSION}"CONNECTED"}}': "1+0x3 _x20", f'{_SESSION}"CONNECTING"}}':
              f"_x3 {steady(1)}"}, {f'{_SESSION}"CONNECTED"}}': steady(1)}, 12),
    event("ZooKeeperLoginsRefused", f"{_LISTENER}authfailures_total"),
    level("ZooKeeperSlow", "kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms", 1500, 900, 11, _P99),
    level("ProduceSlow", f"{_REQUESTS}_totaltimems", 1500, 900, 11, f'{_P99},request="Produce"'),
    AlertCase("FetchSlow", dict.fromkeys(_FETCH, steady(300)), {**dict.fromkeys(_FETCH, steady(200)),
              _WAITING: steady(5000)}, 11),
    AlertCase("ProduceFails", {f"kafka_server_brokertopicmetrics_failedproducerequests_total{{{BROKER}}}": rising(120)},
              {f"kafka_server_brokertopicmetrics_failedproducerequests_total{{{BROKER}}}": rising(30)}, 11),
    AlertCase("FetchFails", {f"kafka_server_brokertopicmetrics_failedfetchrequests_total{{{BROKER}}}": rising(120)},
              {f"kafka_server_brokertopicmetrics_failedfetchrequests_total{{{BROKER}}}": rising(30)}, 11),
    AlertCase("LoginsFail", {
        f'kafka_server_socket_server_metrics_failed_authentication_total{{{BROKER},listener="SASL_SSL"}}': rising(4)
    }, {f'kafka_server_socket_server_metrics_failed_authentication_total{{{BROKER},listener="SASL_SSL"}}': rising(1)},
              11),
    event("ConnectionsRefused", "kafka_network_socketserver_connectionsrefused_total"),
    level("ClientsThrottled", f"{_REQUESTS}_throttletimems", 1500, 900, 11, f'{_P99},request="Produce"'),
    AlertCase("ConsumerLagGrows", {_LAG: rising(60)}, {_LAG: steady(5000)}, HOUR),
    AlertCase("GroupWithoutMembers", {_LAG_SUM: steady(10), _MEMBERS: f"1+0x3 {steady(0)}"},
              {_LAG_SUM: steady(10), _MEMBERS: steady(1)}, 15),
    level("ExporterDown", "up", 0, 1, 6, EXPORTER),
    level("ClusterUnreachable", "kafka_exporter_up", 0, 1, 2, EXPORTER),
)  # fmt: skip

ALSO_QUIET = (
    AlertCase("GroupWithoutMembers", {}, {_LAG_SUM: steady(0), _MEMBERS: f"1+0x3 {steady(0)}"}, 15),
    AlertCase("GroupWithoutMembers", {}, {_LAG_SUM: steady(10), _MEMBERS: steady(0)}, 15),  # assigns partitions itself
    AlertCase("ConsumerLagGrows", {}, {_LAG: rising(4), _TWIN_LAG: rising(4)}, HOUR),  # 0.067 a second, seen twice
    AlertCase("LogsGrow", {}, {_LOG: rising(1e6, start=1e6)}, 75),  # soon doubled, but small
    AlertCase("ConsumerLagGrows", {}, {_LAG: "0+60x20 " * 3 + rising(60)}, 75),  # the group catches up now and then
    AlertCase("UnderReplicatedPartitions", {},
              {'kafka_server_replicamanager_underreplicatedpartitions{job="another"}': steady(1)}, 6),
)  # fmt: skip
"""More series that are no reason to fire; the last ones are of another job."""


ALERTS = [alert for alerts in rules.ALERTS.values() for alert in alerts]
METRIC = re.compile(r"[a-z][a-z_:]+(?={)")
LABEL = re.compile(r"\$labels\.(\w+)")


def judged_by_promtool(*arguments: str | Path) -> str:
    """What it printed. A failure ends the test with it."""
    done = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    """JSON is YAML."""
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps(rules.document(rules_scope("kafka", "kafka-exporter"))))
    return path


def test_every_rule_is_valid(rules_file: Path) -> None:
    assert f"{len(ALERTS) + len(rules.RECORDINGS)} rules found" in judged_by_promtool("check", "rules", rules_file)


def test_jobs_with_any_name_make_valid_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps(rules.document(rules_scope('a "b" \\ $c é', "x{y}"))))
    judged_by_promtool("check", "rules", path)


def test_there_is_a_case_for_every_alert() -> None:
    assert [case.name for case in CASES] == [alert.name for alert in ALERTS]


def firing(alert: Alert) -> str:
    """1 where the alert fires with every label that its texts name; the texts would have gaps otherwise."""
    named = sorted({*LABEL.findall(alert.summary + alert.about + alert.next_command)})
    labels = [f'alertname="{rules.PREFIX}{alert.name}"', 'alertstate="firing"', *(f'{each}!=""' for each in named)]
    return f"count(ALERTS{{{','.join(labels)}}})"


def promtool_tests(case: AlertCase) -> Iterator[dict[str, Any]]:
    """The case as promtool takes it."""
    [alert] = [each for each in ALERTS if each.name == case.name]
    series = {True: case.firing, False: case.quiet} if case in CASES else {False: case.quiet}
    for fires, values in series.items():
        samples = [{"labels": "{}", "value": 1}] if fires else []
        yield {
            "interval": "1m",
            "input_series": [{"series": name, "values": samples} for name, samples in values.items()],
            "promql_expr_test": [{"expr": firing(alert), "eval_time": f"{case.minutes}m", "exp_samples": samples}],
        }


def metrics_of(test: dict[str, Any], alert: str) -> frozenset[str]:
    """The metrics of its series and of the alert's expression."""
    [expression] = [each.expression for each in ALERTS if each.name == alert]
    return frozenset(METRIC.findall(" ".join([expression, *(each["series"] for each in test["input_series"])])))


def together(tests: Sequence[tuple[frozenset[str], dict[str, Any]]]) -> list[dict[str, Any]]:
    """Fewer tests, as each costs half a second: those that have no metric in common are put into one."""
    made: list[tuple[set[str], dict[str, Any]]] = []
    for metrics, test in tests:
        for taken, other in made:
            if not metrics & taken:
                taken |= metrics
                for part in ("input_series", "promql_expr_test"):
                    other[part] += test[part]
                break
        else:
            made.append((set(metrics), test))
    return [test for _, test in made]


def test_every_alert_fires_where_it_should_and_only_there(tmp_path: Path, rules_file: Path) -> None:
    tests = together([
        (metrics_of(test, case.name), test) for case in (*CASES, *ALSO_QUIET) for test in promtool_tests(case)
    ])  # fmt: skip
    assert sum(len(test["promql_expr_test"]) for test in tests) == 2 * len(CASES) + len(ALSO_QUIET)
    path = tmp_path / "tests.yml"
    path.write_text(json.dumps({"rule_files": [rules_file.name], "evaluation_interval": "1m", "tests": tests}))
    judged_by_promtool("test", "rules", path)


@pytest.mark.parametrize("exporters", [1, 2])
def test_what_an_alert_says(tmp_path: Path, rules_file: Path, exporters: int) -> None:
    said = {
        "summary": "Group billing has 10 records to read and no member",
        "description": "Its consumers are down; records that expire before they are back are lost to it. Next: "
        "`kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe --group billing`",
    }
    [case] = [each for each in CASES if each.name == "GroupWithoutMembers"]
    labels = {"severity": "warning", "job": "kafka-exporter", "consumergroup": "billing"}
    [test, _] = promtool_tests(case)
    if exporters == 2:
        seen_again = [{**each, "series": each["series"].replace("e:9308", "f:9308")} for each in test["input_series"]]
        test["input_series"] += seen_again
    test["alert_rule_test"] = [
        {"alertname": "KafkaGroupWithoutMembers", "eval_time": "15m",
         "exp_alerts": [{"exp_labels": labels, "exp_annotations": said}]}
    ]  # fmt: skip
    path = tmp_path / "tests.yml"
    path.write_text(json.dumps({"rule_files": [rules_file.name], "evaluation_interval": "1m", "tests": [test]}))
    judged_by_promtool("test", "rules", path)


@pytest.mark.parametrize("alert", ALERTS, ids=[alert.name for alert in ALERTS])
def test_an_alert_names_the_next_command(alert: Alert) -> None:
    command = alert.next_command.split()
    assert command[0].endswith(".sh") or command[0] in ("kafka-py", "promtool")
    assert alert.summary and alert.about.endswith(".")
