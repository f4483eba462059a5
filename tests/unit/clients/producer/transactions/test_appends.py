"""Records are taken only while `check` raises nothing, and what it raises leaves no trace."""

from __future__ import annotations

import random

import pytest

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.ids import ZERO_UUID
from kafka_py.clients.errors import IllegalState
from kafka_py.clients.metadata import ClusterView, Node, PartitionInfo, TopicInfo
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.clients.producer.transactions.appends import TransactionalAccumulator

VIEW = ClusterView(
    {0: Node(0, "h", 1)}, {"t": TopicInfo("t", ZERO_UUID, False, (PartitionInfo("t", 0, 0, 0, (0,), (0,), ()),))}
)


def closed() -> None:
    raise IllegalState("no transaction is open")


@pytest.fixture
def accumulator() -> TransactionalAccumulator:
    options = ProducerOptions.parse({"bootstrap.servers": "h:1", "transactional.id": "x"})
    made = TransactionalAccumulator(options, SYSTEM_CLOCK, random.Random(1), lambda: None)
    made.take_view(VIEW)
    made.check = lambda: None
    return made


def test_a_batch_is_opened_only_in_a_transaction(accumulator: TransactionalAccumulator) -> None:
    accumulator.check = closed
    with pytest.raises(IllegalState):
        accumulator.append("t", None, b"v", 0, 1, None, None)
    with pytest.raises(IllegalState):
        accumulator.append_batch("t", 0, 1, b"", 1, lambda *_: None)
    assert not accumulator.incomplete
    assert not accumulator.pool.waiting
    accumulator.check = lambda: None
    assert accumulator.append("t", None, b"v", 0, 1, None, None) is not None
    assert len(accumulator.incomplete) == 1


def test_what_no_broker_has_is_taken_out(accumulator: TransactionalAccumulator) -> None:
    for _ in range(2):
        accumulator.append("t", None, b"v", 0, 1, None, None)
        accumulator.topics["t"].lanes[0].open = None
    sent, unsent = accumulator.topics["t"].lanes[0].queue
    sent.sequence = 0
    assert accumulator.take_unsent() == [unsent]
    sent.rejected = True
    assert accumulator.take_unsent() == [sent]
    assert not accumulator.active
