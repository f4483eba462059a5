"""Admin calls on topics: one request to the controller, and what older brokers are asked instead."""

from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ZERO_UUID
from kafka_py.clients import NewPartitions, NewTopic
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.create_topics import CreateTopicsRequest
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest
from kafka_py.wire.messages.metadata import MetadataRequest


def test_a_topic_with_an_assignment_is_asked_for_without_counts(world: Any) -> None:
    world.ask(lambda admin: admin.create_topics([NewTopic("t", 5, 3, {0: [1, 0]})]))
    [(_, request)] = world.asked(CreateTopicsRequest)
    [topic] = request.topics
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert [(each.partition_index, each.broker_ids) for each in topic.assignments] == [(0, [1, 0])]


def test_topics_are_deleted_by_name_in_the_form_that_the_broker_knows(world: Any) -> None:
    world.cluster.create_topic("t")
    world.ask(lambda admin: admin.delete_topics(["t"])).all()
    world.cluster.create_topic("t")
    world.cluster.versions[ApiKey.DELETE_TOPICS] = 5
    world.ask(lambda admin: admin.delete_topics(["t"])).all()
    [(_, new), (_, old)] = world.asked(DeleteTopicsRequest)
    assert [(each.name, each.topic_id) for each in new.topics] == [("t", ZERO_UUID)]
    assert old.topic_names == ["t"]


def test_a_plain_number_of_partitions_is_the_new_total(world: Any) -> None:
    world.cluster.create_topic("a")
    world.cluster.create_topic("b")
    world.ask(lambda admin: admin.create_partitions({"a": 3, "b": NewPartitions(2, [[1]])})).all()
    counts = {name: sum(each.topic == name for each in world.cluster.partitions) for name in "ab"}
    assert counts == {"a": 3, "b": 2}


def test_internal_topics_are_listed_when_asked_for(world: Any) -> None:
    world.cluster.create_topic("t")
    world.cluster.create_topic("__consumer_offsets")
    assert set(world.ask(lambda admin: admin.list_topics())) == {"t"}
    assert set(world.ask(lambda admin: admin.list_topics(list_internal=True))) == {"t", "__consumer_offsets"}


def test_describing_a_topic_does_not_create_it(world: Any) -> None:
    world.cluster.auto_create_partitions = 1
    results = world.ask(lambda admin: admin.describe_topics(["nowhere", "nowhere"]))
    assert results.errors()["nowhere"].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not world.asked(MetadataRequest)[-1][1].allow_auto_topic_creation


def test_describing_nothing_asks_nobody(world: Any) -> None:
    assert world.ask(lambda admin: admin.describe_topics([])) == {}
    assert world.cluster.requests == []
