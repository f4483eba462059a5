"""Transactions of an AsyncProducer from end to end, over a cluster in memory that has every kind of trouble."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients import (
    AsyncConsumer,
    AsyncProducer,
    ClientTimeout,
    GroupMetadata,
    IllegalState,
    ProducerFenced,
    TopicPartition,
    TransactionAborted,
    TransactionFailed,
)
from kafka_py.clients.producer.transactions.states import ProducerTransactionState
from kafka_py.testing.fakes.fake_cluster import CUT, CUT_AFTER, HANG, Trouble
from kafka_py.testing.fakes.fake_groups import FakeGroup, FakeMember
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest
from kafka_py.wire.messages.produce import ProduceRequest

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class World:
    """A cluster of two brokers with a topic of two partitions, and the clients of a test."""

    def __init__(self) -> None:
        self.cluster = MemoryCluster(2)
        self.cluster.create_topic("t", 2)
        self.wires = MemoryWires(self.cluster, lambda: 0.001)

    def producer(self, **settings: Any) -> AsyncProducer:
        config = {
            "bootstrap.servers": "h:9092", "transactional.id": "tx", "retry.backoff.ms": 10,
            "reconnect.backoff.ms": 10, "max.block.ms": 5_000, **settings,
        }  # fmt: skip
        return AsyncProducer(config, environment=self.wires.environment(virtual_clock()))

    async def read(self, isolation: str = "read_committed") -> list[bytes]:
        """All values in both partitions."""
        config = {"bootstrap.servers": "h:9092", "isolation.level": isolation, "auto.offset.reset": "earliest"}
        values: list[bytes] = []
        async with AsyncConsumer(config, environment=self.wires.environment(virtual_clock())) as consumer:
            await consumer.assign([A, B])
            ends = await consumer.end_offsets([A, B])
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                values += [record.value for record in await consumer.poll(1)]
        return sorted(values)

    def asked(self, request: type) -> list[Any]:
        return [each for _, each in self.cluster.requests if isinstance(each, request)]

    @property
    def outcomes(self) -> list[bool]:
        assert self.cluster.transactions.violations == []
        return [committed for _, committed in self.cluster.transactions.outcomes]


def with_world(test: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    run_virtual(test(World()))


def state_of(producer: AsyncProducer) -> ProducerTransactionState:
    assert producer._core._transactions is not None
    return producer._core._transactions.state


def test_w7_24_records_become_visible_with_the_commit_and_not_after_an_abort() -> None:
    """W7.24: three messages, then commit: read_committed sees none before and 3 after; after an abort none."""

    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            for number, end in enumerate(("commit", "abort")):
                await producer.begin_transaction()
                for message in (b"msg1", b"msg2", b"msg3"):
                    await producer.send("t", b"%d-%b" % (number, message), partition=number)
                await producer.flush()
                before = await world.read()
                assert len(before) == 3 * number
                await (producer.commit_transaction() if end == "commit" else producer.abort_transaction())
        assert await world.read() == [b"0-msg1", b"0-msg2", b"0-msg3"]
        assert len(await world.read("read_uncommitted")) == 6
        assert world.outcomes == [True, False]

    with_world(scenario)


def test_s3_120_an_open_transaction_is_invisible_shown_after_commit_dropped_after_abort() -> None:
    """S3-120: msg1 to msg3, with the blocks that commit and abort."""

    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            async with producer.transaction():
                for message in (b"msg1", b"msg2", b"msg3"):
                    await producer.send("t", message)
                await producer.flush()
                assert await world.read() == []
            assert await world.read() == [b"msg1", b"msg2", b"msg3"]
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction():
                    await producer.send("t", b"msg4")
                    await producer.flush()
                    raise ZeroDivisionError
            assert await world.read() == [b"msg1", b"msg2", b"msg3"]

    with_world(scenario)


def test_w7_26_offsets_and_output_are_atomic() -> None:
    """W7.26: consume, transform, produce: an abort leaves the committed offset unchanged."""

    async def scenario(world: World) -> None:
        world.cluster.groups["g"] = FakeGroup([FakeMember("m")], coordinator=1)
        async with world.producer() as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t", b"out")
                await producer.send_offsets_to_transaction({A: 5}, GroupMetadata("g", 1, "m"))
                assert world.cluster.groups["g"].offsets == {}
            assert world.cluster.groups["g"].offsets == {A: (5, "")}
            with pytest.raises(ZeroDivisionError):
                async with producer.transaction():
                    await producer.send("t", b"never")
                    await producer.send_offsets_to_transaction({A: 9}, GroupMetadata("g", 1, "m"))
                    raise ZeroDivisionError
            assert world.cluster.groups["g"].offsets == {A: (5, "")}
            with pytest.raises(TransactionFailed, match="UNKNOWN_MEMBER_ID") as refused:
                async with producer.transaction():
                    await producer.send_offsets_to_transaction({A: 9}, GroupMetadata("g", 1, "gone"))
            assert refused.value.abortable
            async with producer.transaction():
                await producer.send("t", b"again")
        assert await world.read() == [b"again", b"out"]

    with_world(scenario)


def test_partitions_are_added_before_their_first_batch_and_once_per_transaction() -> None:
    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            for _ in range(2):
                async with producer.transaction():
                    for number in range(20):
                        await producer.send("t", b"v", partition=number % 2)
                        if number % 7 == 0:
                            await producer.flush()
        added = [
            (topic.name, number)
            for request in world.asked(AddPartitionsToTxnRequest) for topic in request.topics
            for number in topic.partitions
        ]  # fmt: skip
        assert sorted(added) == [("t", 0), ("t", 0), ("t", 1), ("t", 1)]
        assert {request.transactional_id for request in world.asked(ProduceRequest)} == {"tx"}
        assert world.outcomes == [True, True]

    with_world(scenario)


def test_w7_25_the_first_of_two_producers_is_fenced() -> None:
    """W7.25: both have the same transactional.id."""

    async def scenario(world: World) -> None:
        async with world.producer() as old, world.producer() as new:
            await old.init_transactions()
            await old.begin_transaction()
            await old.send("t", b"zombie")
            await old.flush()
            await new.init_transactions()
            async with new.transaction():
                await new.send("t", b"new")
            late = await old.send("t", b"late")
            with pytest.raises((ProducerFenced, TransactionFailed)):
                await old.commit_transaction()
            assert late.exception() is not None
            if state_of(old) is not ProducerTransactionState.FATAL_ERROR:
                with pytest.raises(ProducerFenced, match="another producer"):
                    await old.abort_transaction()
            with pytest.raises(ProducerFenced):
                await old.begin_transaction()
            with pytest.raises(ProducerFenced):
                await old.send("t", b"later")
        assert await world.read() == [b"new"]

    with_world(scenario)


def test_a_block_says_in_a_note_that_its_abort_failed_too() -> None:
    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            with pytest.raises(ZeroDivisionError) as failed:
                async with producer.transaction():
                    await producer.send("t", b"v")
                    await producer.flush()
                    world.cluster.transactions.fence(world.cluster, "tx")
                    raise ZeroDivisionError
            assert "PRODUCER_FENCED" in failed.value.__notes__[0]

    with_world(scenario)


TROUBLES: list[Trouble] = [
    CUT,
    CUT_AFTER,
    HANG,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
]
ASKED = (
    ApiKey.FIND_COORDINATOR, ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN,
)  # fmt: skip


FATAL = [
    (ApiKey.FIND_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.CONCURRENT_TRANSACTIONS),
    (ApiKey.FIND_COORDINATOR, ErrorCode.NOT_COORDINATOR),
]
"""Errors that these requests never get, and for which the producer is not used any longer."""


@pytest.mark.parametrize(
    ("api", "trouble"), [each for each in itertools.product(ASKED, TROUBLES) if each not in FATAL], ids=str
)
def test_every_request_survives_what_passes(api: ApiKey, trouble: Trouble) -> None:
    async def scenario(world: World) -> None:
        world.cluster.groups["g"] = FakeGroup(coordinator=1)
        async with world.producer(**{"request.timeout.ms": 500, "delivery.timeout.ms": 4000}) as producer:
            world.cluster.fail(api, trouble, trouble)
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t", b"v")
                await producer.send_offsets_to_transaction({A: 5}, "g")
        assert await world.read() == [b"v"]
        assert world.cluster.groups["g"].offsets == {A: (5, "")}
        assert world.outcomes == [True]

    with_world(scenario)


@pytest.mark.parametrize("code", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED])
def test_a_refused_record_fails_the_transaction_and_the_next_one_succeeds(code: ErrorCode) -> None:
    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            good = await producer.send("t", b"good", partition=0)
            await producer.flush()
            world.cluster.fail(ApiKey.PRODUCE, code)
            bad = await producer.send("t", b"bad", partition=1)
            with pytest.raises(KafkaError, match=code.name):
                await bad
            with pytest.raises(TransactionFailed, match="abort it") as failed:
                await producer.commit_transaction()
            assert failed.value.abortable
            with pytest.raises(TransactionFailed):
                await producer.send("t", b"more")
            await producer.abort_transaction()
            assert good.result().offset == 0
            async with producer.transaction():
                await producer.send("t", b"next", partition=0)
                await producer.send("t", b"next", partition=1)
        assert await world.read() == [b"next", b"next"]
        renewed = [request for request in world.asked(InitProducerIdRequest) if request.producer_id >= 0]
        assert [request.producer_epoch for request in renewed] == [0]

    with_world(scenario)


def test_records_that_wait_fail_with_an_abort() -> None:
    async def scenario(world: World) -> None:
        async with world.producer(**{"linger.ms": 60_000, "delivery.timeout.ms": 120_000}) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            waiting = await producer.send("t", b"v")
            await producer.abort_transaction()
            with pytest.raises(TransactionAborted):
                await waiting
            async with producer.transaction():
                sent = await producer.send("t", b"w")
            assert sent.result().offset >= 0
        assert await world.read() == [b"w"]
        assert world.outcomes == [True]

    with_world(scenario)


def test_a_batch_that_expires_in_flight_leads_to_another_epoch() -> None:
    async def scenario(world: World) -> None:
        settings = {"request.timeout.ms": 300, "delivery.timeout.ms": 600, "retry.backoff.ms": 50}
        async with world.producer(**settings) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            await (await producer.send("t", b"a", partition=0))
            world.cluster.fail(ApiKey.PRODUCE, *[HANG] * 8)
            lost = await producer.send("t", b"b", partition=0)
            with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
                await lost
            with pytest.raises(TransactionFailed):
                await producer.commit_transaction()
            await producer.abort_transaction()
            world.cluster._troubles.clear()
            async with producer.transaction():
                await producer.send("t", b"c", partition=0)
        assert await world.read() == [b"c"]
        assert world.cluster.transactions.known["tx"].epoch == 1

    with_world(scenario)


@pytest.mark.parametrize("method", ["init", "commit", "abort", "offsets"])
def test_a_call_that_timed_out_can_be_repeated(method: str) -> None:
    api = {
        "init": ApiKey.INIT_PRODUCER_ID, "commit": ApiKey.END_TXN, "abort": ApiKey.END_TXN,
        "offsets": ApiKey.ADD_OFFSETS_TO_TXN,
    }[method]  # fmt: skip

    async def scenario(world: World) -> None:
        async with world.producer(**{"max.block.ms": 200, "retry.backoff.ms": 50}) as producer:
            calls: dict[str, Callable[[], Awaitable[None]]] = {
                "init": producer.init_transactions,
                "commit": producer.commit_transaction,
                "abort": producer.abort_transaction,
                "offsets": lambda: producer.send_offsets_to_transaction({A: 5}, "g"),
            }
            if method != "init":
                await producer.init_transactions()
                await producer.begin_transaction()
                await (await producer.send("t", b"v"))
            world.cluster.fail(api, *[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 10)
            with pytest.raises(ClientTimeout, match=r"max.block.ms, 200 ms"):
                await calls[method]()
            if method in ("commit", "abort"):
                with pytest.raises(IllegalState, match=f"{method}_transaction is not over"):
                    await producer.begin_transaction()
            await asyncio.sleep(0.3)
            if method == "commit":  # it has succeeded meanwhile, and that is said first
                ending = (ProducerTransactionState.COMMITTING_TRANSACTION, ProducerTransactionState.READY)
                assert state_of(producer) in ending
            for _ in range(3):
                try:
                    await calls[method]()
                    break
                except ClientTimeout:
                    continue
            if method == "offsets":
                await producer.commit_transaction()
                assert world.cluster.groups["g"].offsets == {A: (5, "")}
            async with producer.transaction():
                await producer.send("t", b"w")
        assert world.outcomes[-1]

    with_world(scenario)


def test_a_cancelled_task_aborts_its_block() -> None:
    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()

            async def work() -> None:
                async with producer.transaction():
                    await producer.send("t", b"v")
                    await producer.flush()
                    await asyncio.Event().wait()

            task = asyncio.create_task(work())
            await asyncio.sleep(1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert state_of(producer) is ProducerTransactionState.READY
        assert world.outcomes == [False]

    with_world(scenario)


@pytest.mark.parametrize("timeout", [None, 1.0, 0])
def test_close_aborts_what_is_open(timeout: float | None, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(world: World) -> None:
        producer = world.producer()
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send("t", b"v"))
        late = await producer.send("t", b"w")
        await producer.close(timeout)
        assert late.done()
        assert world.outcomes == ([] if timeout == 0 else [False])
        with pytest.raises(IllegalState, match="closed"):
            await producer.begin_transaction()

    with_world(scenario)
    assert ("is left to its coordinator" in caplog.text) is (timeout == 0)


def test_close_ends_while_the_coordinator_is_gone() -> None:
    async def scenario(world: World) -> None:
        producer = world.producer(**{"max.block.ms": 300})
        await producer.init_transactions()
        await producer.begin_transaction()
        await (await producer.send("t", b"v"))
        world.cluster.fail(ApiKey.END_TXN, *[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 1000)
        begun_s = asyncio.get_running_loop().time()
        await producer.close()
        assert asyncio.get_running_loop().time() - begun_s < 1

    with_world(scenario)


def test_the_coordinator_moves_and_is_found_again() -> None:
    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            for number in range(4):
                async with producer.transaction():
                    await producer.send("t", b"%d" % number)
                    world.cluster.transactions.coordinator = number % 2
                    await producer.send_offsets_to_transaction({A: number}, "g")
        assert await world.read() == [b"0", b"1", b"2", b"3"]
        assert world.outcomes == [True] * 4

    with_world(scenario)


def test_without_a_transactional_id_there_are_no_transactions() -> None:
    async def scenario(world: World) -> None:
        async with world.producer(**{"transactional.id": None}) as producer:
            with pytest.raises(IllegalState, match=r"transactional\.id"):
                await producer.init_transactions()
            with pytest.raises(IllegalState, match=r"transactional\.id"):
                async with producer.transaction():
                    pass

    with_world(scenario)


def test_records_outside_of_a_transaction_are_refused_at_once() -> None:
    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            with pytest.raises(IllegalState, match="init_transactions and begin_transaction first"):
                await producer.send("t", b"v")
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t", b"v")
            begun_s = asyncio.get_running_loop().time()
            for topic in ("t", "unknown"):
                with pytest.raises(IllegalState, match="begin_transaction first"):
                    await producer.send(topic, b"v")
            assert asyncio.get_running_loop().time() == begun_s

    with_world(scenario)


@pytest.mark.parametrize("versions", [{ApiKey.INIT_PRODUCER_ID: 1, ApiKey.TXN_OFFSET_COMMIT: 2}])
def test_brokers_before_2_5_commit_and_abort_as_well(versions: dict[ApiKey, int]) -> None:
    async def scenario(world: World) -> None:
        world.cluster.versions = versions
        async with world.producer() as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t", b"v")
                await producer.send_offsets_to_transaction({A: 5}, "g")
            await producer.begin_transaction()
            with pytest.raises(TransactionFailed, match="give the group id alone") as refused:
                await producer.send_offsets_to_transaction({A: 5}, GroupMetadata("g", 1, "m"))
            assert not refused.value.abortable
        assert world.outcomes == [True]

    with_world(scenario)


@pytest.mark.parametrize("is_old", [True, False])
def test_a_record_that_the_broker_refuses_fails_its_transaction_only(is_old: bool) -> None:
    """Also where brokers give no next epoch: the sequence of the refused batch is used again."""

    async def scenario(world: World) -> None:
        if is_old:
            world.cluster.versions = {ApiKey.INIT_PRODUCER_ID: 1}
        async with world.producer(**{"max.in.flight.requests.per.connection": 3, "batch.size": 0}) as producer:
            await producer.init_transactions()
            async with producer.transaction():
                await producer.send("t", b"before", partition=0)
            await producer.begin_transaction()
            await (await producer.send("t", b"taken", partition=0))
            world.cluster.fail(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE)
            for number in range(3):
                await producer.send("t", b"lost %d" % number, partition=0)
            with pytest.raises(TransactionFailed, match="MESSAGE_TOO_LARGE") as failed:
                await producer.commit_transaction()
            assert failed.value.abortable
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send("t", b"after", partition=0)
        assert world.outcomes == [True, False, True]
        assert await world.read() == [b"after", b"before"]

    with_world(scenario)


@pytest.mark.parametrize("is_old", [True, False])
def test_a_batch_that_is_split_and_holds_a_record_too_large_fails_its_transaction_only(is_old: bool) -> None:
    async def scenario(world: World) -> None:
        if is_old:
            world.cluster.versions = {ApiKey.INIT_PRODUCER_ID: 1}
        async with world.producer(**{"linger.ms": 20}) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            world.cluster.fail(ApiKey.PRODUCE, ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.MESSAGE_TOO_LARGE)
            for number in range(2):
                await producer.send("t", b"lost %d" % number, partition=0)
            with pytest.raises(TransactionFailed, match="MESSAGE_TOO_LARGE") as failed:
                await producer.commit_transaction()
            assert failed.value.abortable
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send("t", b"after", partition=0)
        assert world.outcomes == [False, True]
        assert await world.read() == [b"after"]

    with_world(scenario)


def test_a_batch_of_which_nobody_knows_is_fatal_where_brokers_give_no_next_epoch() -> None:
    async def scenario(world: World) -> None:
        world.cluster.versions = {ApiKey.INIT_PRODUCER_ID: 1}
        async with world.producer(**{"delivery.timeout.ms": 900, "request.timeout.ms": 300}) as producer:
            await producer.init_transactions()
            await producer.begin_transaction()
            world.cluster.fail(ApiKey.PRODUCE, *[HANG] * 20)
            await producer.send("t", b"v", partition=0)
            with pytest.raises(TransactionFailed, match="REQUEST_TIMED_OUT") as failed:
                await producer.commit_transaction()
            assert not failed.value.abortable

    with_world(scenario)


def test_offsets_are_checked_before_anything_is_sent() -> None:
    async def scenario(world: World) -> None:
        async with world.producer() as producer:
            await producer.init_transactions()
            async with producer.transaction():
                with pytest.raises(ValueError, match="negative offset -1 for t-0"):
                    await producer.send_offsets_to_transaction({A: -1}, "g")
                with pytest.raises(ValueError, match="without a member id"):
                    await producer.send_offsets_to_transaction({A: 1}, GroupMetadata("g", 3, ""))
        assert world.asked(EndTxnRequest) == []

    with_world(scenario)
