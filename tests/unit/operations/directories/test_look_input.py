"""From a look at a cluster to directories, disks and replicas."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.directories.look_input import ReplicaPlace, places_of, plan_directories_of
from kafka_py.operations.directories.model import DirectoryId, PlanReplica, ReplicaId
from kafka_py.operations.rebalancing.model import RebalanceRefused

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
TB = 1 << 40


def look(**directories: LogDirDescription) -> ClusterSnapshot:
    return ClusterSnapshot(0, nodes={1: Node(1, "h", 1)}, log_dirs={1: directories})


def empty(total: int | None, usable: int | None) -> LogDirDescription:
    return LogDirDescription(None, {}, total, usable)


def test_directories_of_one_disk_that_were_asked_a_moment_apart_share_it() -> None:
    failed = LogDirDescription(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), {})
    plan = plan_directories_of(look(
        a=empty(TB, TB // 2), b=empty(TB, TB // 2 - (8 << 20)), c=empty(TB, TB // 2 - (50 << 30)),
        d=empty(2 * TB, TB // 2), e=empty(None, None), f=empty(None, None), g=failed,
    ))  # fmt: skip
    disks = {each.id: each.disk for each in plan.directories}
    assert disks == {DirectoryId(1, path): disk for path, disk in zip("abcdefg", "aacdefg", strict=True)}
    assert [each.id.path for each in plan.directories if not each.is_online] == ["g"]


def test_a_copy_that_is_being_moved_is_no_second_replica() -> None:
    seen = look(
        a=LogDirDescription(None, {T0: ReplicaInfo(100, 0, False), T1: ReplicaInfo(5, 0, False)}),
        b=LogDirDescription(None, {T0: ReplicaInfo(40, 0, True)}),
    )
    plan = plan_directories_of(seen)
    assert set(plan.replicas) == {
        PlanReplica(ReplicaId(T0, 1), "a", 100, is_moving=True), PlanReplica(ReplicaId(T1, 1), "a", 5),
    }  # fmt: skip
    assert places_of(seen.log_dirs) == {
        ReplicaId(T0, 1): ReplicaPlace("a", "b", 40), ReplicaId(T1, 1): ReplicaPlace("a"),
    }  # fmt: skip


def test_a_cluster_that_does_not_answer_is_refused() -> None:
    with pytest.raises(RebalanceRefused, match="no broker has answered"):
        plan_directories_of(ClusterSnapshot(0))
