"""Leaders, replicas and in-sync sets against their minimum."""

from kafka_py.operations.doctor.checks import partitions
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import NODES, ids, only, partition, seen, snapshot, topic

EVERY = (
    partitions.offline_partitions,
    partitions.under_replicated,
    partitions.below_min_isr,
    partitions.min_isr_and_factor,
)


def test_a_partition_without_leader_names_the_brokers_to_start() -> None:
    finding = only(partitions.offline_partitions, seen(topic("t", partition(0, -1, (7, 8), ()))))
    assert (finding.id, finding.severity) == ("partitions-offline", Severity.ERROR)
    assert "7, 8" in finding.repair


def test_a_partition_without_leader_on_live_brokers_sends_to_the_controller() -> None:
    finding = only(partitions.offline_partitions, seen(topic("t", partition(0, -1, (1, 2), ()))))
    assert "state-change.log" in finding.repair


def test_under_replicated_partitions_of_a_dead_broker_name_it() -> None:
    finding = only(partitions.under_replicated, seen(topic("t", partition(0, 1, (1, 9), (1,)))))
    assert (finding.id, "Start broker 9" in finding.repair) == ("partitions-under-replicated", True)


def test_under_replicated_partitions_of_a_live_broker_name_what_to_look_at() -> None:
    finding = only(partitions.under_replicated, seen(topic("t", partition(0, 1, (1, 2), (1,)))))
    assert "num.replica.fetchers" in finding.repair


def test_an_in_sync_set_below_the_minimum_is_an_error() -> None:
    short = topic("t", partition(0, 1, (1, 2, 3), (1,)))
    finding = only(partitions.below_min_isr, seen(short, topic_settings={"t": {"min.insync.replicas": "2"}}))
    assert (finding.id, finding.severity) == ("partitions-below-min-isr", Severity.ERROR)
    assert finding.evidence[0].endswith("min.insync.replicas 2")
    assert ids(partitions.below_min_isr, seen(short, topic_settings={"t": {"min.insync.replicas": "1"}})) == []


def test_a_minimum_that_leaves_no_room_is_a_warning_and_one_above_the_factor_an_error() -> None:
    three = {"min.insync.replicas": "3"}
    assert ids(partitions.min_isr_and_factor, seen(topic_settings={"t": three})) == [
        ("min-isr-equals-factor", Severity.WARNING)
    ]
    assert ids(partitions.min_isr_and_factor, seen(topic_settings={"t": {"min.insync.replicas": "4"}})) == [
        ("min-isr-above-factor", Severity.ERROR)
    ]
    alone = seen(topic("t", partition(0, 1, (1,))), topic_settings={"t": {"min.insync.replicas": "1"}})
    assert ids(partitions.min_isr_and_factor, alone) == []


def test_long_lists_of_evidence_are_cut() -> None:
    many = topic("t", *(partition(number, -1, (9,), ()) for number in range(50)))
    finding = only(partitions.offline_partitions, seen(many))
    assert (len(finding.evidence), finding.evidence[-1]) == (11, "and 40 more")


def test_partitions_in_order_and_a_cluster_that_was_not_seen_are_no_findings() -> None:
    for check in EVERY:
        assert ids(check, seen(topic_settings={"t": {"min.insync.replicas": "2"}})) == []
        assert ids(check, seen(snapshot=None)) == []
        assert ids(check, seen(snapshot=snapshot(nodes=NODES))) == []
