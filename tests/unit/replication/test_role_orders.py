"""What LeaderAndIsr and StopReplica ask of a broker, decided (docs/reference/controller.md, section 13)."""

import uuid

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import EPOCH_DURING_DELETE, ZERO_UUID, TopicId, TopicPartition
from kafka_py.records.batch import NO_LEADER_EPOCH
from kafka_py.replication.role_orders import (
    LocalReplica,
    RoleRequest,
    StopRequest,
    by_role,
    check_role,
    check_stop,
    once_each,
    role_to_take,
)
from kafka_py.replication.state.roles import FOLLOWER, LEADER, NONE
from kafka_py.testing.fakes.replicas import role

T0 = TopicPartition("t", 0)
ID, OTHER_ID = uuid.UUID(int=1), uuid.UUID(int=2)
NOTHING = LocalReplica()
IN_EPOCH_3 = LocalReplica(is_hosted=True, leader_epoch=3, topic_id=ID)
OFFLINE = LocalReplica(is_offline=True)


@pytest.mark.parametrize(
    ("held", "epoch", "topic_id", "replicas", "code"),
    [
        (NOTHING, 0, ID, (1, 2), ErrorCode.NONE),
        (NOTHING, 0, ZERO_UUID, (1, 2), ErrorCode.NONE),
        (NOTHING, 0, ID, (2, 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (IN_EPOCH_3, 4, ID, (1, 2), ErrorCode.NONE),
        (IN_EPOCH_3, 4, ZERO_UUID, (1, 2), ErrorCode.NONE),
        (IN_EPOCH_3, 3, ID, (1, 2), ErrorCode.STALE_CONTROLLER_EPOCH),
        (IN_EPOCH_3, 2, ID, (2, 3), ErrorCode.STALE_CONTROLLER_EPOCH),
        (IN_EPOCH_3, 4, ID, (2, 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (IN_EPOCH_3, 2, OTHER_ID, (2, 3), ErrorCode.INCONSISTENT_TOPIC_ID),
        (LocalReplica(topic_id=OTHER_ID), 0, ID, (1, 2), ErrorCode.INCONSISTENT_TOPIC_ID),
        (OFFLINE, 9, ID, (2, 3), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_whether_a_role_is_taken(
    held: LocalReplica, epoch: int, topic_id: TopicId, replicas: tuple[int, ...], code: ErrorCode
) -> None:
    request = RoleRequest(T0, topic_id, role(leader=2, epoch=epoch, isr=(2,), replicas=replicas))
    assert check_role(request, held, 1) is code


@pytest.mark.parametrize(
    ("held", "epoch", "delete", "code"),
    [
        (NOTHING, 7, True, ErrorCode.NONE),
        (IN_EPOCH_3, NO_LEADER_EPOCH, False, ErrorCode.NONE),
        (IN_EPOCH_3, EPOCH_DURING_DELETE, True, ErrorCode.NONE),
        (IN_EPOCH_3, 4, False, ErrorCode.NONE),
        (IN_EPOCH_3, 3, False, ErrorCode.FENCED_LEADER_EPOCH),
        (IN_EPOCH_3, 3, True, ErrorCode.NONE),
        (IN_EPOCH_3, 2, True, ErrorCode.FENCED_LEADER_EPOCH),
        (OFFLINE, EPOCH_DURING_DELETE, True, ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_whether_a_replica_is_stopped(held: LocalReplica, epoch: int, delete: bool, code: ErrorCode) -> None:
    assert check_stop(StopRequest(T0, epoch, delete), held) is code


def test_a_follower_waits_for_word_while_its_leader_is_not_alive() -> None:
    def is_live(broker_id: int) -> bool:
        return broker_id == 2

    assert role_to_take(role(leader=1), 1, is_live) is LEADER
    assert role_to_take(role(leader=2), 1, is_live) is FOLLOWER
    assert role_to_take(role(leader=3), 1, is_live) is NONE


def test_requests_are_divided_by_role_and_stay_in_order() -> None:
    requests = [
        RoleRequest(TopicPartition("t", number), ZERO_UUID, role(leader=leader))
        for number, leader in enumerate((1, 2, 1, 3))
    ]
    leading, following = by_role(requests, 1)
    assert [one.topic_partition.partition for one in leading] == [0, 2]
    assert [one.topic_partition.partition for one in following] == [1, 3]


def test_of_several_requests_for_a_partition_the_newest_counts() -> None:
    """Found by fuzzing: the valid one had a request with leader epoch -1 carried out as well."""

    def request(number: int, epoch: int, leader: int = 1) -> RoleRequest:
        return RoleRequest(TopicPartition("t", number), ZERO_UUID, role(leader, epoch))

    requests = [request(0, -1), request(1, 3), request(0, 5), request(0, 5, leader=2), request(1, 2)]
    assert once_each(requests) == [requests[3], requests[1]]
    assert once_each(requests[:2]) == requests[:2]
