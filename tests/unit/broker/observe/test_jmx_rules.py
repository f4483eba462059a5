"""Names by the rules of JMX exporters: those that public dashboards ask for."""

import csv
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.broker.observe.jmx_rules import (
    COUNTER,
    GAUGE,
    USUAL,
    BeanAttribute,
    MetricNames,
    RuleSet,
    name_in,
    names_of,
    sets_named,
)
from kafka_py.testing.processes import ROOT

TOPICS = "kafka.server:type=BrokerTopicMetrics"
REQUESTS = "kafka.network:type=RequestMetrics"
HANDLERS = "kafka.server:type=KafkaRequestHandlerPool"
SOCKETS = "kafka.server:type=socket-server-metrics"
SOFTWARE = ("clientSoftwareName", "clientSoftwareVersion", "listener", "networkProcessor")

ASKED_FOR = [
    # bean and attribute, the name in kafka-2_0_0.yml, in Strimzi's and in Confluent's file; None: they leave it out
    (TOPICS, "MessagesInPerSec", (), "Count", "kafka_server_brokertopicmetrics_messagesin_total",
     "kafka_server_brokertopicmetrics_messagesin_total", "kafka_server_brokertopicmetrics_messagesinpersec"),
    (TOPICS, "TotalFetchRequestsPerSec", ("topic",), "Count",
     *["kafka_server_brokertopicmetrics_totalfetchrequests_total"] * 2,
     "kafka_server_brokertopicmetrics_totalfetchrequestspersec"),
    (REQUESTS, "RequestsPerSec", ("request", "version"), "Count", "kafka_network_requestmetrics_requests_total",
     "kafka_network_requestmetrics_requests_total", "kafka_network_requestmetrics_requestspersec"),
    (REQUESTS, "TotalTimeMs", ("request",), "Count", "kafka_network_requestmetrics_totaltimems_count",
     "kafka_network_requestmetrics_totaltimems_count", "kafka_network_requestmetrics_totaltimems"),
    ("kafka.server:type=ReplicaManager", "UnderReplicatedPartitions", (), "Value",
     *["kafka_server_replicamanager_underreplicatedpartitions"] * 3),
    ("kafka.controller:type=KafkaController", "ActiveControllerCount", (), "Value",
     *["kafka_controller_kafkacontroller_activecontrollercount"] * 3),
    ("kafka.controller:type=ControllerStats", "UncleanLeaderElectionsPerSec", (), "Count",
     *["kafka_controller_controllerstats_uncleanleaderelections_total"] * 2,
     "kafka_controller_controllerstats_uncleanleaderelectionspersec"),
    ("kafka.controller:type=ControllerStats", "LeaderElectionRateAndTimeMs", (), "999thPercentile",
     *["kafka_controller_controllerstats_leaderelectionrateandtimems"] * 3),
    ("kafka.log:type=Log", "Size", ("topic", "partition"), "Value", *["kafka_log_log_size"] * 3),
    ("kafka.server:type=DelayedOperationPurgatory", "PurgatorySize", ("delayedOperation",), "Value",
     *["kafka_server_delayedoperationpurgatory_purgatorysize"] * 3),
    ("kafka.coordinator.group:type=GroupMetadataManager", "NumGroups", (), "Value",
     *["kafka_coordinator_group_groupmetadatamanager_numgroups"] * 3),
    ("kafka.server:type=SessionExpireListener", "ZooKeeperExpiresPerSec", (), "Count",
     *["kafka_server_sessionexpirelistener_zookeeperexpires_total"] * 2,
     "kafka_server_sessionexpirelistener_zookeeperexpirespersec"),
    (HANDLERS, "RequestHandlerAvgIdlePercent", (), "MeanRate", None,
     "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", None),
    (HANDLERS, "RequestHandlerAvgIdlePercent", (), "OneMinuteRate", None, None,
     "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_total"),
    ("kafka.network:type=SocketServer", "NetworkProcessorAvgIdlePercent", (), "Value",
     "kafka_network_socketserver_networkprocessoravgidlepercent",
     "kafka_network_socketserver_networkprocessoravgidle_percent",
     "kafka_network_socketserver_networkprocessoravgidlepercent"),
    (SOCKETS, "", ("listener", "networkProcessor"), "connection-count", None,
     "kafka_server_socket_server_metrics_connection_count", "kafka_server_socketservermetrics_connection_count"),
    (SOCKETS, "", SOFTWARE, "connections", None, "kafka_server_socket_server_metrics_connections_software",
     "kafka_server_socketservermetrics_connections"),
    (SOCKETS, "", ("cipher", "protocol", "listener", "networkProcessor"), "connections", None,
     "kafka_server_socket_server_metrics_connections_tls_info", None),
    ("kafka.server:type=Produce", "", ("user", "client-id"), "byte-rate", "kafka_server_quota_byte_rate", None,
     "kafka_server_produce_byte_rate"),
]  # fmt: skip


def named(bean: BeanAttribute, rule_set: RuleSet) -> str | None:
    found = name_in(bean, rule_set)
    return None if found is None else found.name


@pytest.mark.parametrize("row", ASKED_FOR, ids=lambda row: f"{row[0]} {row[1]} {row[3]}")
def test_the_names_that_dashboards_ask_for(row: tuple[Any, ...]) -> None:
    bean = BeanAttribute(*row[:4])
    assert tuple(named(bean, each) for each in (RuleSet.JMX, RuleSet.STRIMZI, RuleSet.CONFLUENT)) == row[4:]


def beans() -> Iterator[BeanAttribute]:
    """Every bean of docs/reference/metrics.tsv that has a name of its own, with an attribute that all its kind have."""
    attributes = {"gauge": "Value", "meter": "Count", "histogram": "99thPercentile", "timer": "Count"}
    with (ROOT / "docs" / "reference" / "metrics.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["registry"] == "yammer":
                group, _, name = row["mbean"].partition(",name=")
                yield BeanAttribute(group, name, (), attributes[row["kind"].split()[0]])


@pytest.mark.parametrize("rule_set", RuleSet)
def test_every_bean_of_apache_has_a_name_and_no_two_have_the_same(rule_set: RuleSet) -> None:
    found = {bean: named(bean, rule_set) for bean in set(beans())}
    assert len(found) > 150 and all(found.values())
    assert [name for name in found.values() if name and not re.fullmatch(r"kafka_[a-z0-9_]+", name)] == []
    assert len(set(found.values())) == len(found)


def test_kinds_and_labels() -> None:
    count = name_in(BeanAttribute(TOPICS, "BytesInPerSec", ("topic",), "Count"), RuleSet.JMX)
    assert count is not None and (count.kind, count.labels, count.fixed) == (COUNTER, ("topic",), "")
    share = name_in(BeanAttribute(REQUESTS, "TotalTimeMs", ("request",), "999thPercentile"), RuleSet.STRIMZI)
    assert share is not None and (share.kind, share.fixed) == (GAUGE, 'quantile="0.999"')
    quota = name_in(BeanAttribute("kafka.server:type=Fetch", "", ("user", "client-id"), "byte-rate"), RuleSet.JMX)
    assert quota is not None and (quota.labels, quota.fixed) == (("user", "clientId"), 'resource="Fetch"')
    software = name_in(BeanAttribute(SOCKETS, "", SOFTWARE, "connections"), RuleSet.CONFLUENT)
    assert software is not None
    assert software.labels == ("client_software_name", "client_software_version", "listener", "network_processor")
    queue = name_in(
        BeanAttribute("kafka.controller:type=ControllerChannelManager", "QueueSize", ("broker-id",), "Value"),
        RuleSet.CONFLUENT,
    )
    assert queue is not None and queue.labels == ("broker_id",)


def test_sets_together_have_each_name_once_and_own_names_come_first() -> None:
    bean = BeanAttribute("kafka.network:type=SocketServer", "NetworkProcessorAvgIdlePercent", (), "Value")
    assert [each.name for each in names_of(bean, USUAL)] == [
        "kafka_network_socketserver_networkprocessoravgidlepercent",
        "kafka_network_socketserver_networkprocessoravgidle_percent",
    ]
    assert MetricNames([RuleSet.JMX, RuleSet.OWN]).sets == (RuleSet.OWN, RuleSet.JMX)


def test_the_process_has_its_names_in_every_set() -> None:
    bean = BeanAttribute("kafka_py:type=process", "", (), "cpu_seconds_total")
    for each in RuleSet:
        [name] = names_of(bean, [each])
        assert (name.name, name.kind) == ("process_cpu_seconds_total", COUNTER)


def test_sets_by_name() -> None:
    assert sets_named([]) == sets_named([""]) == USUAL
    assert sets_named(["confluent,own", "jmx"]) == (RuleSet.OWN, RuleSet.JMX, RuleSet.CONFLUENT)
    with pytest.raises(ValueError, match="there are no names 'x': names is one or more of own,jmx,strimzi,confluent"):
        sets_named(["jmx,x"])
