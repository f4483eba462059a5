"""What a leader makes of an assignor's result. Rebalances themselves play in tests/cluster and tests/compat."""

import asyncio
from typing import Any

import pytest

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import Assignment, Subscription
from kafka_py.clients.consumer.assignors.range import RangeAssignor
from kafka_py.clients.consumer.joining import Joining, _as_assignments, _check_cooperative
from kafka_py.clients.consumer.subscriptions import Subscriptions

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_member_that_the_assignor_left_out_gets_nothing() -> None:
    shares = _as_assignments({"m1": [A], "m2": Assignment([B], b"data"), "stranger": [A]}, ["m1", "m2", "m3"])
    assert shares == {"m1": Assignment([A]), "m2": Assignment([B], b"data"), "m3": Assignment([])}


def test_a_cooperative_assignor_must_not_move_a_partition_in_one_step() -> None:
    wants = {"old": Subscription(["t"], owned=[A, B]), "new": Subscription(["t"])}
    _check_cooperative({"old": Assignment([A]), "new": Assignment([])}, wants)
    with pytest.raises(KafkaError, match="before the old ones have revoked them"):
        _check_cooperative({"old": Assignment([A]), "new": Assignment([B])}, wants)


def test_two_that_claim_a_partition_may_both_be_left_with_it() -> None:
    """One of them has not heard yet that it lost it."""
    wants = {"away": Subscription(["t"], owned=[A]), "here": Subscription(["t"], owned=[A])}
    for member in wants:
        _check_cooperative({member: Assignment([A])}, wants)


def test_other_topics_count_from_a_join_on_until_the_member_leaves() -> None:
    subscriptions = Subscriptions()
    no_cluster: Any = None
    joining = Joining("g", no_cluster, subscriptions, [RangeAssignor()])
    subscriptions.subscribe(["t"])
    assert not joining.has_other_topics
    asyncio.run(joining.protocols())
    assert not joining.has_other_topics
    subscriptions.subscribe(["u"])
    assert joining.has_other_topics
    joining.forget()
    assert not joining.has_other_topics
