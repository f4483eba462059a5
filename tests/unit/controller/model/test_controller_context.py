"""The controller's picture of the cluster: assignments and the counts that gauges show."""

import random
import uuid

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import (
    NO_ASSIGNMENT,
    ControllerContext,
    Leadership,
    PartitionAndReplica,
    PartitionAssignment,
)
from kafka_py.controller.model.replica_states import ReplicaState
from kafka_py.zk.brokers import RegisteredBroker

T0 = TopicPartition("t", 0)


def cluster_of(*brokers, **topics):
    cluster = ControllerContext()
    for broker in brokers:
        cluster.brokers[broker] = RegisteredBroker(broker, 100 + broker, (), None, {})
    for topic, partitions in topics.items():
        cluster.add_topic(topic, uuid.uuid4())
        for number, replicas in enumerate(partitions):
            cluster.set_assignment(TopicPartition(topic, number), PartitionAssignment(tuple(replicas)))
    return cluster


def led(cluster, partition, leader, isr):
    cluster.set_leadership(partition, Leadership(leader, 0, tuple(isr), 1, 0))


@pytest.mark.parametrize(
    ("start", "target", "expected"),
    [
        (PartitionAssignment((1, 2)), (3, 4), PartitionAssignment((3, 4, 1, 2), (3, 4), (1, 2))),
        (PartitionAssignment((1, 2)), (2, 3), PartitionAssignment((2, 3, 1), (3,), (1,))),
        (PartitionAssignment((1, 2)), (2, 1), PartitionAssignment((2, 1), (), ())),
        (PartitionAssignment((3, 4, 1, 2), (3, 4), (1, 2)), (1, 5), PartitionAssignment((1, 5, 2), (5,), (2,))),
        (PartitionAssignment((3, 4, 1, 2), (3, 4), (1, 2)), (1, 2), PartitionAssignment((1, 2), (), ())),  # cancelled
    ],
)
def test_reassignment_puts_the_target_first_and_starts_from_the_origin(start, target, expected):
    assert start.reassign_to(target) == expected
    assert expected.target == target


def test_removing_a_replica_leaves_no_trace_of_it():
    assert PartitionAssignment((3, 1, 2), (3,), (1,)).remove(3) == PartitionAssignment((1, 2), (), (1,))
    assert not NO_ASSIGNMENT.is_being_reassigned


def test_a_replica_is_online_on_a_live_broker_with_a_sound_disk():
    cluster = cluster_of(1, 2, t=[[1, 2]])
    assert cluster.is_online(1, T0)
    cluster.offline_dirs[1] = {T0}
    assert not cluster.is_online(1, T0)
    assert cluster.is_online(1, TopicPartition("t", 1))
    cluster.shutting_down.add(2)
    assert not cluster.is_online(2, T0)
    assert cluster.is_online(2, T0, include_shutting_down=True)
    assert not cluster.is_online(3, T0)
    assert cluster.live_brokers == {1}


def test_imbalance_counts_partitions_that_another_leads():
    cluster = cluster_of(1, 2, t=[[1, 2], [2, 1]])
    led(cluster, T0, 2, [2])
    led(cluster, TopicPartition("t", 1), 2, [2])
    assert cluster.preferred_imbalance_count == 1
    led(cluster, T0, 1, [1, 2])
    assert cluster.preferred_imbalance_count == 0
    cluster.set_assignment(T0, PartitionAssignment((3, 1), (3,), (1,)))  # 3 cannot lead yet
    assert cluster.preferred_imbalance_count == 1
    led(cluster, T0, 1, [1, 3])
    assert cluster.preferred_imbalance_count == 0
    led(cluster, T0, 1, [1])
    cluster.queue_for_deletion({"t"})
    assert cluster.preferred_imbalance_count == 0


def test_offline_counts_partitions_without_leader_but_not_those_in_deletion():
    cluster = cluster_of(1, t=[[1]], u=[[1]])
    for topic in ("t", "u"):
        cluster.set_partition_state(TopicPartition(topic, 0), partition_states.OFFLINE)
    assert cluster.offline_partition_count == 2
    cluster.set_partition_state(T0, partition_states.ONLINE)
    assert cluster.offline_partition_count == 1
    cluster.remove_topic("u")
    assert cluster.offline_partition_count == 0
    cluster.started.add("t")
    cluster.set_partition_state(T0, partition_states.OFFLINE)
    assert cluster.offline_partition_count == 0


def test_a_removed_topic_leaves_nothing_behind():
    cluster = cluster_of(1, t=[[1, 2]])
    led(cluster, T0, 1, [1])
    replica = PartitionAndReplica("t", 0, 1)
    cluster.set_replica_state(replica, replica_states.ONLINE)
    cluster.set_partition_state(T0, partition_states.ONLINE)
    cluster.offline_dirs[1] = {T0}
    cluster.reassigning.add(T0)
    cluster.queue_for_deletion({"t"})
    cluster.mark_ineligible({"t", "unknown"})
    assert cluster.ineligible == {"t"}
    cluster.remove_topic("t")
    empty = ControllerContext()
    empty.brokers, empty.offline_dirs = cluster.brokers, {1: set()}
    assert vars(cluster) == vars(empty)


def test_lists_by_broker():
    cluster = cluster_of(1, 2, 3, t=[[1, 2], [2, 3]])
    assert cluster.partitions_on(3) == [TopicPartition("t", 1)]
    assert cluster.replicas_on({2}) == [PartitionAndReplica("t", 0, 2), PartitionAndReplica("t", 1, 2)]
    led(cluster, T0, 2, [2])
    assert cluster.partitions_led_by(2) == [T0]
    del cluster.brokers[2]
    assert cluster.partitions_with_offline_leader() == [T0]


def test_replicas_to_delete_are_those_not_gone_yet():
    cluster = cluster_of(1, 2, t=[[1, 2]])
    cluster.queue_for_deletion({"t"})
    assert (cluster.replicas_to_delete(), cluster.replicas_ineligible()) == (2, 0)
    cluster.set_replica_state(PartitionAndReplica("t", 0, 1), replica_states.DELETION_SUCCESSFUL)
    cluster.set_replica_state(PartitionAndReplica("t", 0, 2), replica_states.DELETION_INELIGIBLE)
    assert (cluster.replicas_to_delete(), cluster.replicas_ineligible()) == (1, 1)


def naive_counts(cluster):
    """What the gauges and indexes say, found by going through everything."""
    undeleted = ineligible = 0
    for topic in cluster.queued:
        replicas = cluster.replicas_of_topic(topic)
        states = [cluster.replica_state(replica) for replica in replicas]
        undeleted += len(replicas) - states.count(replica_states.DELETION_SUCCESSFUL)
        ineligible += states.count(replica_states.DELETION_INELIGIBLE)
    partitions = list(cluster.partitions())
    led = {one: cluster.leadership(one) for one in partitions if cluster.leadership(one) is not None}
    return (
        undeleted,
        ineligible,
        len(partitions),
        {topic: {cluster.replica_state(r) for r in cluster.replicas_of_topic(topic)} for topic in cluster.queued},
        {b: {r for r in cluster.replicas() if r.broker == b} for b in range(5)},
        {b: {one for one, found in led.items() if found.leader == b} for b in range(-1, 5)},
        {one for one, found in led.items() if one.topic not in cluster.queued
         and not cluster.is_online(found.leader, one)},
    )  # fmt: skip


def kept_counts(cluster):
    return (
        cluster.replicas_to_delete(),
        cluster.replicas_ineligible(),
        cluster.partition_count,
        {topic: cluster.states_being_deleted(topic) for topic in cluster.queued},
        {b: set(cluster.replicas_on([b])) for b in range(5)},
        {b: set(cluster.partitions_led_by(b)) for b in range(-1, 5)},
        set(cluster.partitions_with_offline_leader()),
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_beside_equals_what_going_through_everything_finds(seed):
    chance = random.Random(seed)
    cluster = cluster_of(0, 1, 2, 3, 4)
    states = list(ReplicaState)
    for _ in range(300):
        partition = TopicPartition(chance.choice("abc"), chance.randrange(4))
        match chance.randrange(8):
            case 0 | 1:
                drawn = tuple(chance.sample(range(5), chance.randrange(4)))
                cluster.set_assignment(partition, PartitionAssignment(drawn))
            case 2 | 3:  # also of replicas that the assignment does not name
                cluster.set_replica_state(PartitionAndReplica(*partition, chance.randrange(5)), chance.choice(states))
            case 4:
                if cluster.assignment(partition).replicas:
                    led(cluster, partition, chance.randrange(-1, 5), (1,))
            case 5:
                cluster.queue_for_deletion({partition.topic} & cluster.topics)
            case 6:
                offline = {one for one in cluster.partitions() if chance.random() < 0.2}
                cluster.offline_dirs[chance.randrange(5)] = offline
            case 7:
                if chance.random() < 0.3:
                    cluster.remove_topic(partition.topic)
        assert kept_counts(cluster) == naive_counts(cluster)
