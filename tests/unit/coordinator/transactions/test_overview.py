"""What administrators see of transactional ids: all, or those that meet conditions; nothing of other brokers."""

from __future__ import annotations

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.coordinator.transactions.overview import STATE_NAMES, STATES, Selection, describe, listed
from kafka_py.coordinator.transactions.states import DEAD, EMPTY, ONGOING
from kafka_py.testing.fakes.transactions import T0, T1, TransactionWorld

ALL = Selection()


def names(world: TransactionWorld, selection: Selection = ALL) -> list[str]:
    return [name for some in listed(world.store, selection, world.clock.wall_ms()) for name, _ in some]


def begun(world: TransactionWorld, transactional_id: str) -> int:
    """An id with an open transaction; returns its producer id."""
    producer = world.init(transactional_id=transactional_id).reply
    assert world.add(producer, T0, T1, transactional_id=transactional_id).error is ErrorCode.NONE
    return producer.producer_id


def test_states_have_the_names_of_the_protocol() -> None:
    assert sorted(STATES) == [
        "CompleteAbort", "CompleteCommit", "Dead", "Empty", "Ongoing", "PrepareAbort", "PrepareCommit",
        "PrepareEpochFence",
    ]  # fmt: skip
    assert STATES[STATE_NAMES[ONGOING]] is ONGOING


def test_an_open_transaction_is_described_with_its_partitions() -> None:
    world = TransactionWorld()
    producer_id = begun(world, "open")
    found = describe(world.store, "open")
    assert (found.state, found.partitions) == (ONGOING, (T0, T1))
    assert (found.producer_id, found.producer_epoch) == (producer_id, 0)
    assert found.start_ms == world.clock.wall_ms()


def test_an_id_that_nobody_used_is_not_found() -> None:
    with pytest.raises(KafkaError, match="'nobody'") as caught:
        describe(TransactionWorld().store, "nobody")
    assert caught.value.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_only_the_coordinator_describes() -> None:
    world = TransactionWorld()
    world.become_coordinator(load=False)
    with pytest.raises(KafkaError) as caught:
        describe(world.store, "other")
    assert caught.value.code is ErrorCode.NOT_COORDINATOR
    assert names(world) == []


def test_an_id_that_is_being_removed_is_not_shown() -> None:
    world = TransactionWorld()
    world.init(transactional_id="going")
    transaction = world.transaction("going")
    transaction.metadata = transaction.metadata._replace(state=DEAD)
    assert names(world) == []
    with pytest.raises(KafkaError) as caught:
        describe(world.store, "going")
    assert caught.value.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_ids_are_selected_by_state_producer_and_duration() -> None:
    world = TransactionWorld()
    world.init(transactional_id="idle")
    first = begun(world, "first")
    world.clock.advance(1000)
    begun(world, "second")
    assert names(world) == ["idle", "first", "second"]
    assert names(world, Selection(states=("Ongoing", "Odd"))) == ["first", "second"]
    assert names(world, Selection(states=("Empty",))) == ["idle"]
    assert names(world, Selection(states=("Odd",))) == []
    assert Selection(states=("Odd", "Empty", "Odd")).unknown_states() == ["Odd"]
    assert names(world, Selection(producer_ids=(first, 7))) == ["first"]
    assert names(world, Selection(states=("Ongoing",), producer_ids=(first,), duration_ms=500)) == ["first"]
    assert names(world, Selection(duration_ms=500)) == ["first"]
    assert names(world, Selection(duration_ms=1000)) == []


def test_many_ids_come_in_steps() -> None:
    world = TransactionWorld()
    for number in range(600):
        world.init(transactional_id=f"id-{number}")
    steps = list(listed(world.store, Selection(), 0))
    assert [len(step) for step in steps] == [256, 256, 88]
    assert steps[0][0][1].state is EMPTY
