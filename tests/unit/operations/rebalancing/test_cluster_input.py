"""From a look at a cluster to what a plan is made from."""

from dataclasses import replace

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, UnseenPart, ViewPart
from kafka_py.operations.rebalancing.cluster_input import disk_capacity, look_notes, plan_cluster_of
from kafka_py.operations.rebalancing.model import (
    PlanBroker,
    PlanPartition,
    PlanRequest,
    RebalanceAction,
    RebalanceRefused,
)
from kafka_py.operations.rebalancing.planner import propose

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
UNSEEN = UnseenPart(ViewPart.LOG_DIRS, 1, "", ErrorCode.REQUEST_TIMED_OUT, "late")


def snapshot():
    rows = (
        PartitionInfo("t", 0, 0, 1, (0, 1), (0,), (), ErrorCode.NONE),
        PartitionInfo("t", 1, -1, 1, (7,), (), (7,), ErrorCode.NONE),
    )
    replicas = {T0: ReplicaInfo(50, 0, False)}
    return ClusterSnapshot(
        0, nodes={0: Node(0, "h", 1, "a"), 1: Node(1, "h", 2, "b")},
        topics={"t": TopicInfo("t", ZERO_UUID, False, rows, ErrorCode.NONE)},
        log_dirs={
            0: {"/d": LogDirDescription(None, replicas), "/e": LogDirDescription(None, {T0: ReplicaInfo(99, 0, True)})},
            1: {"/d": LogDirDescription(None, {T0: ReplicaInfo(60, 0, False)})},
        }, unseen=(UNSEEN,),
    )  # fmt: skip


def test_brokers_partitions_and_sizes():
    cluster = plan_cluster_of(snapshot(), {0: 5}, 9)
    assert cluster.brokers == (PlanBroker(0, "a", 5), PlanBroker(1, "b", 9), PlanBroker(7, None, 9, is_live=False))
    assert cluster.partitions == (PlanPartition(T0, (0, 1), 0, 60), PlanPartition(T1, (7,), None, 0))
    assert look_notes(snapshot()) == (f"The sizes on broker 1 are not known: {UNSEEN}",)


def test_a_partition_that_is_being_reassigned_has_the_replicas_that_it_gets_and_stays_out_of_every_plan():
    """Metadata names four replicas of a partition that moves from two brokers to two others."""
    rows = (PartitionInfo("t", 0, 0, 1, (1, 2, 0), (0, 1), (), ErrorCode.NONE),)
    look = replace(
        snapshot(), nodes={id_: Node(id_, "h", 1) for id_ in range(4)},
        topics={"t": TopicInfo("t", ZERO_UUID, False, rows, ErrorCode.NONE)},
    )  # fmt: skip
    cluster = plan_cluster_of(look, running={T0: [1, 2]})
    assert cluster.partitions == (PlanPartition(T0, (1, 2), 0, 60, is_moving=True),)
    requests = [
        PlanRequest(RebalanceAction.REMOVE_BROKERS, frozenset({1})), PlanRequest(),
        PlanRequest(RebalanceAction.DEMOTE_BROKERS, frozenset({1})),
        PlanRequest(RebalanceAction.REPLICATION_FACTOR, factor=1),
    ]
    for request in requests:
        proposal = propose(cluster, request)
        assert proposal.is_empty
        assert "1 partitions are being reassigned, such as t-0: the plan leaves them out." in proposal.notes
    assert propose(plan_cluster_of(look), requests[0]).targets == {T0: (3, 2, 0)}


@pytest.mark.parametrize(
    ("disks", "capacity"),
    [
        ({"/a": (1000, 400, 100)}, 100 + 400 - 50),
        ({"/a": (1000, 400, 100), "/b": (1000, 400, 30)}, 130 + 400 - 50),  # two directories of one disk
        ({"/a": (10_000, 4000, 100), "/b": (10_000, 3990, 30)}, 130 + 4000 - 500),  # that was written to meanwhile
        ({"/a": (10_000, 4000, 100), "/b": (10_000, 3989, 30)}, 130 + 7989 - 1000),
        ({"/a": (1000, 400, 100), "/b": (2000, 40, 30)}, 130 + 440 - 150),
        ({"/a": (1000, 0, 10)}, 0),
        ({"/a": (1000, 400, 100), "/b": (None, None, 30)}, None),
        ({}, None),
    ],
)
def test_a_broker_has_room_for_what_its_disks_have(
    disks: dict[str, tuple[int | None, int | None, int]], capacity: int | None
) -> None:
    told = {
        path: LogDirDescription(None, {T0: ReplicaInfo(held, 0, False)}, total, usable)
        for path, (total, usable, held) in disks.items()
    }
    offline = {"/off": LogDirDescription(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), {})}
    look = replace(snapshot(), log_dirs={0: {**told, **offline}})
    assert disk_capacity(look, 0) == capacity
    assert plan_cluster_of(look).brokers[0].capacity_bytes == capacity
    assert plan_cluster_of(look, {0: 7}).brokers[0].capacity_bytes == 7
    assert plan_cluster_of(look, None, 8).brokers[0].capacity_bytes == 8


def test_partitions_that_the_metadata_does_not_name_are_noted():
    stale = replace(snapshot(), topics={}, unseen=())
    assert look_notes(stale) == ("Brokers hold 1 partitions that the metadata does not name, such as t-0.",)


def test_a_cluster_that_does_not_answer_is_refused():
    with pytest.raises(RebalanceRefused, match="REQUEST_TIMED_OUT"):
        plan_cluster_of(ClusterSnapshot(0, unseen=(UNSEEN,)))
