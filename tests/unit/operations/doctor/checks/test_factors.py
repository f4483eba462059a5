"""Replication factors of topics, of internal topics, and of the settings they will be created by."""

from kafka_py.operations.doctor.checks import factors
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import IN_ORDER, NODES, ids, only, partition, seen, snapshot, topic


def test_internal_topics_with_one_replica_are_found() -> None:
    offsets = topic("__consumer_offsets", partition(0, 1, (1,)))
    finding = only(factors.internal_topics, seen(IN_ORDER, offsets))
    assert (finding.id, "offsets.topic.replication.factor=3" in finding.repair) == ("offsets-factor", True)
    transactions = topic("__transaction_state", partition(0, 1, (1, 2)))
    assert only(factors.internal_topics, seen(IN_ORDER, transactions)).id == "transactions-factor"


def test_one_replica_is_enough_for_a_single_broker() -> None:
    alone = snapshot(topic("__consumer_offsets", partition(0, 1, (1,))), nodes={1: NODES[1]})
    assert ids(factors.internal_topics, seen(snapshot=alone)) == []
    assert ids(factors.single_replicas, seen(snapshot=alone)) == []


def test_a_factor_above_the_number_of_brokers_stops_every_group() -> None:
    settings = {"offsets.topic.replication.factor": "4", "transaction.state.log.replication.factor": "3"}
    finding = only(factors.factors_of_settings, seen(settings=settings))
    assert (finding.id, finding.severity) == ("offsets-factor-above-brokers", Severity.ERROR)
    assert "Start 1 more broker," in finding.repair


def test_a_low_factor_is_found_before_the_topic_exists_and_not_twice_afterwards() -> None:
    settings = {"offsets.topic.replication.factor": "1"}
    assert ids(factors.factors_of_settings, seen(settings=settings)) == [("offsets-factor", Severity.WARNING)]
    exists = topic("__consumer_offsets", partition(0, 1, (1, 2, 3)))
    assert ids(factors.factors_of_settings, seen(IN_ORDER, exists, settings=settings)) == []


def test_a_default_factor_above_the_number_of_brokers_is_an_error() -> None:
    finding = only(factors.factors_of_settings, seen(settings={"default.replication.factor": "5"}))
    assert finding.id == "default-factor-above-brokers"


def test_topics_with_one_replica_are_found() -> None:
    assert only(factors.single_replicas, seen(IN_ORDER, topic("one", partition(0, 1, (1,))))).evidence == ("one",)


def test_factors_in_order_are_no_finding() -> None:
    settings = {"offsets.topic.replication.factor": "3", "default.replication.factor": "3"}
    for check in (factors.internal_topics, factors.factors_of_settings, factors.single_replicas):
        assert ids(check, seen(settings=settings)) == []
