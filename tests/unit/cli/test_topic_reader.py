"""Reading all partitions of topics by assignment."""

import logging
import re

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.topic_reader import TopicReader
from kafka_py.clients.errors import ClientTimeout
from kafka_py.clients.metadata import PartitionInfo


def infos(topic, count):
    return [PartitionInfo(topic, number, 1, 0, (1,), (1,), ()) for number in range(count)]


class FakeConsumer:
    """A cluster as topic -> number of partitions; None cannot be reached."""

    def __init__(self, topics):
        self.topics = topics
        self.assigned, self.polls = [], 0

    def partitions_for(self, topic, timeout):
        if self.topics is None:
            raise ClientTimeout("nobody there")
        return infos(topic, self.topics.get(topic, 0))

    def list_topics(self, timeout):
        return {topic: infos(topic, count) for topic, count in self.topics.items()}

    def assign(self, partitions):
        self.assigned.append(list(partitions))

    def poll(self, timeout):
        self.polls += 1
        return ["record"]


class World:
    def __init__(self, topics, wanted, **how):
        self.now, self.slept = 100.0, 0.0
        self.consumer = FakeConsumer(topics)
        self.reader = TopicReader(self.consumer, wanted, now=lambda: self.now, sleep=self.sleep, **how)

    def sleep(self, seconds):
        self.slept += seconds
        self.now += seconds


def test_all_partitions_of_a_topic_are_assigned_once():
    world = World({"t": 2}, "t")
    assert world.reader.assigned_at is None
    assert world.reader.poll(1) == ["record"] and world.reader.poll(1) == ["record"]
    assert world.consumer.assigned == [[TopicPartition("t", 0), TopicPartition("t", 1)]]
    assert world.reader.assigned_at == 100.0


def test_partitions_that_come_later_are_added():
    world = World({"t": 1}, "t", look_every_s=30)
    world.reader.poll(1)
    world.consumer.topics["t"] = 2
    world.reader.poll(1)
    assert len(world.consumer.assigned) == 1
    world.now += 30
    world.reader.poll(1)
    assert world.consumer.assigned[1] == [TopicPartition("t", 0), TopicPartition("t", 1)]


def test_a_missing_topic_is_waited_for_with_one_warning(caplog):
    world = World({}, "t")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert not world.reader.poll(1)
    assert world.slept > 0 and world.consumer.polls == 0
    assert caplog.messages == ["Topic t does not exist; waiting for it"]
    world.consumer.topics["t"] = 1
    world.now += 1
    assert world.reader.poll(1) == ["record"]


def test_a_cluster_that_cannot_be_reached_is_no_failure():
    world = World(None, "t")
    assert not world.reader.poll(1)


def test_a_pattern_means_whole_names_and_no_internal_topics():
    topics = {"ab": 1, "abc": 1, "__consumer_offsets": 1}
    world = World(topics, re.compile("ab|.*offsets"))
    world.reader.poll(1)
    assert world.consumer.assigned == [[TopicPartition("ab", 0)]]
    world = World(topics, re.compile("ab|.*offsets"), internal=True)
    world.reader.poll(1)
    assert world.consumer.assigned == [[TopicPartition("__consumer_offsets", 0), TopicPartition("ab", 0)]]
