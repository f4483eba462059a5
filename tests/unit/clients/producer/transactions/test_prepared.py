"""A transaction that its producer stores and leaves open, to be ended elsewhere by its producer id and epoch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.clients import AsyncProducer, IllegalState, TransactionFailed
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest


class World:
    """A broker with the topic `t`, and a transactional producer."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster(1)
        self.cluster.create_topic("t", 2)
        self.wires = MemoryWires(self.cluster, lambda: 0.001)

    def producer(self) -> AsyncProducer:
        config = {"bootstrap.servers": "h:9092", "transactional.id": "tx", "retry.backoff.ms": 10}
        return AsyncProducer(config, environment=self.wires.environment(virtual_clock()))

    @property
    def ends(self) -> list[Any]:
        return [request for _, request in self.cluster.requests if isinstance(request, EndTxnRequest)]


def with_world(test: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    run_virtual(test(World()))


def test_what_was_sent_is_stored_and_nobody_ends_it() -> None:
    async def test(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            futures = [await producer.send("t", b"v", partition=number) for number in (0, 1, 0)]
            prepared = await producer.prepare_transaction()
            assert all(future.done() for future in futures)
            assert prepared.transactional_id == "tx"
            assert (prepared.producer_id, prepared.epoch) >= (0, 0)
            with pytest.raises(IllegalState, match="is prepared"):
                await producer.send("t", b"late", partition=0)
        assert world.ends == []

    with_world(test)


def test_a_transaction_without_records_may_be_prepared() -> None:
    async def test(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            assert (await producer.prepare_transaction()).transactional_id == "tx"
        assert world.ends == []

    with_world(test)


def test_no_record_is_taken_from_the_moment_on_in_which_it_is_prepared() -> None:
    """Else a record could be stored after its transaction was said to hold all."""

    async def test(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await producer.send("t", b"v", partition=0)
            preparing = asyncio.create_task(producer.prepare_transaction())
            await asyncio.sleep(0)
            with pytest.raises(IllegalState, match="is prepared"):
                await producer.send("t", b"late", partition=1)
            await preparing
        assert world.cluster.log("t", 1).batches == []

    with_world(test)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_prepared_producer_says_so_whether_the_topic_is_known_or_not(is_known: bool) -> None:
    async def test(world: World) -> None:
        world.cluster.create_topic("u", 1)
        async with world.producer() as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            if is_known:
                await producer.partitions_for("u")
            await producer.prepare_transaction()
            with pytest.raises(IllegalState, match="is prepared"):
                await producer.send("u", b"late", partition=0)

    with_world(test)


def test_the_epoch_of_another_process_is_resumed_and_nobody_is_fenced() -> None:
    async def test(world: World) -> None:
        async with world.producer() as first:
            await first.init_transactions()
            await first.begin_transaction()
            producer_id, epoch = (await first.prepare_transaction())[1:]
        async with world.producer() as second:
            await second.resume_transactions(producer_id, epoch)
            with pytest.raises(IllegalState, match="in place of init_transactions"):
                await second.resume_transactions(producer_id, epoch)
            await second.begin_transaction()
            await second.send("t", b"v", partition=0)
            assert await second.prepare_transaction() == ("tx", producer_id, epoch)
        assert len([each for _, each in world.cluster.requests if isinstance(each, InitProducerIdRequest)]) == 1

    with_world(test)


def test_a_resumed_producer_never_asks_for_another_epoch() -> None:
    """It is for whoever gave it this one to raise it: a late request would abort the transaction of a successor."""

    async def test(world: World) -> None:
        async with world.producer() as first:
            await first.init_transactions()
            await first.begin_transaction()
            prepared = await first.prepare_transaction()
        async with world.producer() as second:
            await second.resume_transactions(prepared.producer_id, prepared.epoch)
            await second.begin_transaction()
            world.cluster.fail(ApiKey.PRODUCE, ErrorCode.UNKNOWN_SERVER_ERROR)
            await second.send("t", b"v", partition=0)
            with pytest.raises(TransactionFailed) as failed:
                await second.prepare_transaction()
            assert not failed.value.abortable
        assert len([each for _, each in world.cluster.requests if isinstance(each, InitProducerIdRequest)]) == 1

    with_world(test)


def test_what_failed_is_not_prepared_and_is_aborted() -> None:
    async def test(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            world.cluster.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            await producer.send("t", b"v", partition=0)
            with pytest.raises(TransactionFailed, match="TOPIC_AUTHORIZATION_FAILED"):
                await producer.prepare_transaction()
        assert [request.committed for request in world.ends] == [False]

    with_world(test)


@pytest.mark.parametrize("steps", [0, 1])
def test_there_must_be_a_transaction(steps: int) -> None:
    async def test(world: World) -> None:
        async with world.producer() as producer:
            if steps:
                await producer.init_transactions()
            with pytest.raises(IllegalState, match="not in a transaction"):
                await producer.prepare_transaction()

    with_world(test)
