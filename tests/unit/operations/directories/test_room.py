"""How much room disks have while a plan is made."""

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.directories.model import (
    DirectoriesRequest,
    DirectoryId,
    PlanDirectory,
    PlanReplica,
    ReplicaId,
)
from kafka_py.operations.directories.planner import BrokerPlacement


def test_what_leaves_a_disk_makes_no_room_on_it_before_it_has_left() -> None:
    disks = [PlanDirectory(DirectoryId(1, path), True, 1000, 100, path) for path in "ab"]
    replicas = [
        PlanReplica(ReplicaId(TopicPartition("t", number), 1), path, size)
        for number, (path, size) in enumerate((("a", 40), ("b", 60)))
    ]
    place = BrokerPlacement(disks, replicas, DirectoriesRequest())
    assert not place.fits(1, "a")
    place.move(0, "b")
    assert not place.fits(1, "a")
