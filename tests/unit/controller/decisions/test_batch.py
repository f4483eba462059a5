"""The requests of one step: merged per broker, in order, in every version that a protocol version asks for."""

import uuid

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.base.turns import run_turn
from kafka_py.controller.decisions.batch import STEP_PARTITIONS, MissingListener, RequestBatch, RequestSource
from kafka_py.controller.model.controller_context import ControllerContext, Leadership, PartitionAssignment
from kafka_py.wire.compiler import decode, encode
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.wire.messages.stop_replica import StopReplicaRequest
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest
from kafka_py.wire.protocol_versions import NAMES, InterBrokerVersion
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.znodes import BrokerEndpoint

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


@pytest.fixture
def cluster():
    cluster = ControllerContext()
    for id_ in (1, 2):
        endpoint = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", f"h{id_}", 9000 + id_)
        cluster.brokers[id_] = RegisteredBroker(id_, 100 + id_, (endpoint,), f"rack{id_}", {})
    for partition in (T0, T1, U0):
        cluster.add_topic(partition.topic, uuid.UUID(int=ord(partition.topic)))
        cluster.set_assignment(partition, PartitionAssignment((1, 2, 3)))
        cluster.set_leadership(partition, Leadership(1, 5, (1, 2), 4, 7))
    return cluster


def sender(version="2.8"):
    return RequestSource(9, 4, InterBrokerVersion(version).requests, "PLAINTEXT")


def add_leader(batch, cluster, brokers, partition, is_new=False):
    leadership, assignment = cluster.leadership(partition), cluster.assignment(partition)
    batch.add_leader_and_isr(brokers, partition, leadership, assignment, is_new=is_new)


def requests_of(batch, sender):
    """What the batch comes to."""
    return run_turn(batch.requests(sender), lambda: 0.0).value


def full_batch(cluster):
    batch = RequestBatch(cluster)
    batch.add_stop_replica([2], U0, delete=True)
    batch.add_stop_replica([2], T0, delete=False)
    add_leader(batch, cluster, [1, 2], T0, is_new=True)
    add_leader(batch, cluster, [1], T1)
    return batch


def test_requests_leave_in_the_order_leader_and_isr_update_metadata_stop_replica(cluster):
    requests = requests_of(full_batch(cluster), sender())
    assert [(type(r.message), r.broker, r.version) for r in requests] == [
        (LeaderAndIsrRequest, 1, 5),
        (LeaderAndIsrRequest, 2, 5),
        (UpdateMetadataRequest, 1, 7),
        (UpdateMetadataRequest, 2, 7),
        (StopReplicaRequest, 2, 3),
    ]
    assert {r.message.broker_epoch for r in requests if r.broker == 2} == {102}
    assert set(requests[-1].deletes) == {U0}


def test_a_leader_and_isr_entry_is_news_for_every_brokers_metadata(cluster):
    batch = RequestBatch(cluster)
    add_leader(batch, cluster, [1], T0)
    metadata = [r.message for r in requests_of(batch, sender()) if isinstance(r.message, UpdateMetadataRequest)]
    assert len(metadata) == 2
    (topic,) = metadata[0].topic_states
    (state,) = topic.partition_states
    assert (topic.topic_name, topic.topic_id, state.partition_index) == ("t", uuid.UUID(int=ord("t")), 0)
    assert state.offline_replicas == [3]
    assert [(b.id, b.rack, b.endpoints[0].host) for b in metadata[0].live_brokers] == [
        (1, "rack1", "h1"), (2, "rack2", "h2"),
    ]  # fmt: skip


def test_is_new_once_said_stays_said_within_the_batch(cluster):
    batch = RequestBatch(cluster)
    add_leader(batch, cluster, [1], T0, is_new=True)
    add_leader(batch, cluster, [1, 2], T0, is_new=False)
    flags = [
        r.message.topic_states[0].partition_states[0].is_new
        for r in requests_of(batch, sender())
        if isinstance(r.message, LeaderAndIsrRequest)
    ]
    assert flags == [True, False]


def test_brokers_that_are_not_registered_get_nothing(cluster):
    batch = RequestBatch(cluster)
    add_leader(batch, cluster, [3, -1], T0)
    batch.add_update_metadata([3, -1])
    batch.add_stop_replica([3], T0, delete=True)
    assert {r.broker for r in requests_of(batch, sender())} == {1, 2}


def test_a_topic_in_deletion_is_led_by_minus_two_and_stopped_with_epoch_minus_two(cluster):
    cluster.queue_for_deletion({"t"})
    batch = RequestBatch(cluster)
    batch.add_update_metadata([1], [T0])
    batch.add_stop_replica([1], T0, delete=True)
    metadata, stop = (r.message for r in requests_of(batch, sender()))
    state = metadata.topic_states[0].partition_states[0]
    assert (state.leader, state.leader_epoch, state.zk_version, state.isr) == (-2, 0, 0, [1, 2])
    assert stop.topic_states[0].partition_states[0].leader_epoch == -2


def test_partitions_that_never_had_a_leader_are_not_in_the_metadata(cluster):
    unled = TopicPartition("t", 9)
    batch = RequestBatch(cluster)
    batch.add_update_metadata([1], [unled])
    batch.add_stop_replica([1], unled, delete=False)
    metadata, stop = (r.message for r in requests_of(batch, sender()))
    assert metadata.topic_states == []
    assert stop.topic_states[0].partition_states[0].leader_epoch == -1


def test_a_leader_without_the_listener_stops_the_whole_batch(cluster):
    batch = RequestBatch(cluster)
    add_leader(batch, cluster, [2], T0)
    with pytest.raises(MissingListener):
        requests_of(batch, sender()._replace(listener="INTERNAL"))


@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_version_can_be_encoded_and_read_back(cluster, name):
    for request in requests_of(full_batch(cluster), sender(name)):
        data = encode(request.message, request.version)
        again = decode(type(request.message), request.version, data)
        assert encode(again, request.version) == data
        assert (again.controller_id, again.controller_epoch) == (9, 4)


def test_before_version_3_stops_and_deletes_are_two_requests(cluster):
    for name, expected in (("2.2", "topics"), ("1.0", "ungrouped_partitions")):
        stops = [r for r in requests_of(full_batch(cluster), sender(name)) if isinstance(r.message, StopReplicaRequest)]
        assert [(r.message.delete_partitions, set(r.deletes)) for r in stops] == [(True, {U0}), (False, set())]
        assert all(len(getattr(r.message, expected)) == 1 for r in stops)


def test_old_versions_are_not_grouped_by_topic(cluster):
    leader, *_ = requests_of(full_batch(cluster), sender("1.0"))
    states = leader.message.ungrouped_partition_states
    assert [(state.topic_name, state.partition_index) for state in states] == [("t", 0), ("t", 1)]


def test_a_large_batch_stops_after_every_few_partitions(cluster):
    batch = RequestBatch(cluster)
    for number in range(1000):
        partition = TopicPartition("t", number)
        cluster.set_assignment(partition, PartitionAssignment((1, 2)))
        cluster.set_leadership(partition, Leadership(1, 5, (1, 2), 4, 7))
        add_leader(batch, cluster, [1, 2], partition)
    stops = sum(1 for _ in batch.requests(sender()))
    assert stops >= 4 * 1000 // STEP_PARTITIONS  # two brokers' LeaderAndIsr, the metadata and its topics
