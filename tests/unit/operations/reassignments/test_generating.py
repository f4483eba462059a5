"""New places for the replicas of topics: as many as there are, on the brokers that are given."""

import random

from kafka_py.base.ids import TopicPartition
from kafka_py.base.placement import BrokerRack
from kafka_py.operations.reassignments.generating import proposed, settled

BROKERS = [BrokerRack(id_, None) for id_ in range(5)]
T = [TopicPartition("t", number) for number in range(3)]


def test_each_topic_keeps_its_number_of_replicas():
    other = TopicPartition("u", 0)
    placed = proposed({**dict.fromkeys(T, (0, 1)), other: (0, 1, 2)}, BROKERS, random.Random(1))
    assert {tp: len(set(ids)) for tp, ids in placed.items()} == {**dict.fromkeys(T, 2), other: 3}


def test_replicas_that_a_reassignment_removes_in_the_end_do_not_count():
    named = {**dict.fromkeys(T, (0, 1)), T[0]: (2, 3, 0, 1)}
    current = settled(named, {T[0]: (2, 3), TopicPartition("other", 0): (1,)})
    assert current == {T[0]: [2, 3], T[1]: [0, 1], T[2]: [0, 1]}
    assert {len(ids) for ids in proposed(current, BROKERS, random.Random(1)).values()} == {2}
