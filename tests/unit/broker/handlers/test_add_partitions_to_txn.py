"""AddPartitionsToTxn with very many partitions: others have their turns meanwhile."""

from __future__ import annotations

import asyncio
from itertools import count
from types import SimpleNamespace
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.handlers.records.add_partitions_to_txn import AT_ONCE, handle
from kafka_py.coordinator.transactions.requests import AddPartitions, TransactionReply
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic

COUNT = 10_000


def node_of(add_partitions: Any) -> Any:
    """A broker that knows as many partitions of each topic, on whose clock every piece of work takes 10 ms."""
    readings = count(step=10)
    return SimpleNamespace(
        clock=SimpleNamespace(monotonic_ms=lambda: next(readings)),
        config=SimpleNamespace(inter_broker_version=lambda: SimpleNamespace(at_least=lambda _version: True)),
        authorizer=SimpleNamespace(allows=lambda *_: True),
        metadata=SimpleNamespace(partitions_of=lambda _topic: range(COUNT)),
        coordinators=SimpleNamespace(transactions=SimpleNamespace(add_partitions=add_partitions)),
    )


def test_very_many_partitions_are_checked_and_answered_in_turns() -> None:
    async def run() -> None:
        asked: list[AddPartitions] = []

        def add_partitions(_id: str, request: AddPartitions, answer: Any) -> None:
            asked.append(request)
            answer(TransactionReply(ErrorCode.NONE))

        topics = [AddPartitionsToTxnTopic(name=name, partitions=list(range(COUNT // 2))) for name in ("a", "b")]
        request = AddPartitionsToTxnRequest(transactional_id="tx", producer_id=1, producer_epoch=0, topics=topics)
        context: Any = SimpleNamespace(api_version=3)
        handling = handle(node_of(add_partitions), context, request)
        assert asyncio.iscoroutine(handling)
        task, turns = asyncio.ensure_future(handling), 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 2 * COUNT // AT_ONCE
        assert len(asked[0].partitions) == COUNT
        rows = [(topic.name, row.partition_index, row.error_code) for topic in task.result().results  # type: ignore[attr-defined]
                for row in topic.results]  # fmt: skip
        assert rows == [(name, number, 0) for name in ("a", "b") for number in range(COUNT // 2)]

    run_virtual(run())


def test_very_many_topics_without_partitions_are_answered_in_turns() -> None:
    async def run() -> None:
        def add_partitions(_id: str, _request: AddPartitions, answer: Any) -> None:
            answer(TransactionReply(ErrorCode.NONE))

        topics = [AddPartitionsToTxnTopic(name=str(number), partitions=[]) for number in range(COUNT)]
        request = AddPartitionsToTxnRequest(transactional_id="tx", producer_id=1, producer_epoch=0, topics=topics)
        context: Any = SimpleNamespace(api_version=3)
        answering: Any = handle(node_of(add_partitions), context, request)
        task, turns = asyncio.ensure_future(answering), 0
        while not task.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 2 * COUNT

    run_virtual(run())
