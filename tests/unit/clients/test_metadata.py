"""The cluster as a value: made of responses, never going back in leader epochs."""

import random
import uuid

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import ClusterView, bootstrap_view, least_loaded, view_of_response
from kafka_py.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPIC_ID = uuid.UUID(int=5)


def response(leader: int, epoch: int, error: int = 0, topic_id: uuid.UUID = TOPIC_ID) -> MetadataResponse:
    partition = MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[0, 1], isr_nodes=[0]
    )
    partitions = [] if error else [partition]
    topic = MetadataResponseTopic(error_code=error, name="t", topic_id=topic_id, partitions=partitions)
    brokers = [MetadataResponseBroker(node_id=number, host="h", port=9092 + number) for number in range(2)]
    return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1, topics=[topic])


def test_a_bootstrap_view_has_servers_under_negative_ids() -> None:
    assert sorted(bootstrap_view([("a", 1), ("b", 2)]).nodes) == [-2, -1]


def test_a_view_finds_leaders() -> None:
    view = view_of_response(response(1, 4), ClusterView(), 10.0)
    assert view.leader(TopicPartition("t", 0)) == view.nodes[1]
    assert view.leader(TopicPartition("t", 1)) is None
    assert view.available_partitions("t") == [0]
    assert (view.cluster_id, view.controller_id, view.fetched_ms) == ("c", 1, 10.0)


def test_a_partition_is_found_where_others_before_it_are_left_out() -> None:
    """A broker learns of a partition once it has a leader, so the one added before it may still be missing."""
    answer = response(1, 4)
    answer.topics[0].partitions[0].partition_index = 2
    view = view_of_response(answer, ClusterView(), 10.0)
    assert view.leader(TopicPartition("t", 2)) == view.nodes[1]
    assert view.leader(TopicPartition("t", 0)) is None


def test_a_partition_whose_leader_is_down_has_none() -> None:
    view = view_of_response(response(7, 4), ClusterView(), 0.0)
    assert view.leader(TopicPartition("t", 0)) is None
    assert view.available_partitions("t") == []


@pytest.mark.parametrize(("epoch", "leader"), [(3, 0), (4, 1), (5, 1), (-1, 1)])
def test_an_older_leader_epoch_does_not_replace_a_newer_one(epoch: int, leader: int) -> None:
    before = view_of_response(response(0, 4), ClusterView(), 0.0)
    view = view_of_response(response(1, epoch), before, 1.0)
    found = view.leader(TopicPartition("t", 0))
    assert found is not None
    assert found.id == leader


def test_a_topic_made_anew_begins_with_new_epochs() -> None:
    before = view_of_response(response(0, 4), ClusterView(), 0.0)
    view = view_of_response(response(1, 0, topic_id=uuid.UUID(int=6)), before, 1.0)
    assert view.topics["t"].partitions[0].leader == 1


def test_a_topic_with_an_error_has_no_partitions() -> None:
    view = view_of_response(response(0, 0, error=3), ClusterView(), 0.0)
    assert view.topics["t"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert view.partition(TopicPartition("t", 0)) is None


def test_we2_11_the_least_loaded_node_has_the_fewest_requests_in_flight() -> None:
    assert least_loaded({0: 3, 1: 1, 2: 2}, random.Random(0)) == 1
    assert {least_loaded({0: 1, 1: 1}, random.Random(seed)) for seed in range(20)} == {0, 1}
    assert least_loaded({}, random.Random(0)) is None
