"""Assigned partitions and where the consumer stands in them."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.subscriptions import Subscriptions, SubscriptionType
from kafka_py.clients.errors import IllegalState

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_new_assignment_replaces_the_old_and_keeps_positions() -> None:
    subscriptions = Subscriptions()
    subscriptions.assign([A])
    subscriptions.of(A).seek(7)
    subscriptions.assign([A, B])
    assert subscriptions.of(A).position == 7
    assert subscriptions.of(B).position is None
    subscriptions.assign([B])
    assert A not in subscriptions


def test_we3_6_an_empty_assignment_is_none_at_all() -> None:
    subscriptions = Subscriptions()
    subscriptions.assign([A])
    subscriptions.assign([])
    assert subscriptions.type is SubscriptionType.NONE
    with pytest.raises(IllegalState, match="nothing to poll"):
        subscriptions.check_not_empty()


def test_we3_14_a_partition_that_is_not_assigned_has_no_position() -> None:
    with pytest.raises(IllegalState, match="t-0 is not assigned"):
        Subscriptions().of(A)


def test_every_jump_and_every_new_assignment_is_told_apart() -> None:
    subscriptions = Subscriptions()
    subscriptions.assign([A])
    state = subscriptions.of(A)
    seen = {state.generation}
    state.seek(1)
    seen.add(state.generation)
    state.reset(-1)
    seen.add(state.generation)
    subscriptions.assign([])
    subscriptions.assign([A])
    seen.add(subscriptions.of(A).generation)
    assert len(seen) == 4
