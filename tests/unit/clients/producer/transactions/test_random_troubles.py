"""Random errors, lost connections, cancellations, crashes: what takes effect is exactly what the application committed.

One application after the other has the same transactional id; each writes transactions until it crashes, and the next
one fences it. A transaction whose commit was called and not confirmed may have taken effect or not, but never in part.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients import AsyncConsumer, AsyncProducer, ClientTimeout, TopicPartition, TransactionFailed
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.testing.fakes.fake_cluster import CUT, CUT_AFTER, HANG, Trouble
from kafka_py.testing.fakes.fake_groups import FakeGroup
from kafka_py.testing.fakes.memory_wire import MemoryCluster, MemoryWires
from kafka_py.testing.virtual_time import run_virtual, virtual_clock
from kafka_py.wire.apis import ApiKey

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
E = ErrorCode
PASSING: list[Trouble] = [CUT, CUT_AFTER, CUT_AFTER, HANG]
COORDINATOR: list[Trouble] = [
    *PASSING, E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS, E.CONCURRENT_TRANSACTIONS,
]  # fmt: skip
TROUBLES: Mapping[ApiKey, list[Trouble]] = {
    ApiKey.PRODUCE: [
        *PASSING, *PASSING, E.NOT_LEADER_OR_FOLLOWER, E.NOT_ENOUGH_REPLICAS, E.REQUEST_TIMED_OUT, E.MESSAGE_TOO_LARGE,
        E.TOPIC_AUTHORIZATION_FAILED, E.KAFKA_STORAGE_ERROR,
    ],
    ApiKey.FIND_COORDINATOR: [CUT, E.COORDINATOR_NOT_AVAILABLE],
    ApiKey.INIT_PRODUCER_ID: COORDINATOR,
    ApiKey.ADD_PARTITIONS_TO_TXN: [*COORDINATOR, E.TOPIC_AUTHORIZATION_FAILED],
    ApiKey.ADD_OFFSETS_TO_TXN: [*COORDINATOR, E.GROUP_AUTHORIZATION_FAILED],
    ApiKey.TXN_OFFSET_COMMIT: [CUT, CUT_AFTER, E.NOT_COORDINATOR, E.ILLEGAL_GENERATION],
    ApiKey.END_TXN: COORDINATOR,
}  # fmt: skip


class Crash(Exception):
    """The application ends without closing its producer."""


class Run:
    """One seed: the cluster, and what the applications know."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.cluster = MemoryCluster(2)
        self.cluster.create_topic("t", len(PARTITIONS))
        self.cluster.groups["g"] = FakeGroup(coordinator=1)
        self.wires = MemoryWires(self.cluster, lambda: self.draw.choice([0.0, 0.001, 0.01]))
        self.trouble = self.draw.choice([0.0, 0.05, 0.2])
        self.number = 0
        self.committed: list[int] = []
        self.unknown: set[int] = set()
        self.sent: dict[int, list[tuple[int, bytes]]] = {}

    def _environment(self) -> ClientEnvironment:
        chance = Chance(self.draw.getrandbits(32))
        return ClientEnvironment(virtual_clock(), chance=chance, connect=self.wires.connect)

    def script_trouble(self) -> None:
        for api, troubles in TROUBLES.items():
            if self.draw.random() < self.trouble:
                self.cluster.fail(api, self.draw.choice(troubles))
        if self.draw.random() < self.trouble / 2:
            self.cluster.move_leader("t", self.draw.randrange(len(PARTITIONS)), self.draw.randrange(2))
        if self.draw.random() < self.trouble / 2:
            self.cluster.transactions.coordinator = self.draw.randrange(2)
        if self.draw.random() < self.trouble / 10 and "tx" in self.cluster.transactions.known:
            self.cluster.transactions.fence(self.cluster, "tx")

    async def application(self) -> None:
        """Writes transactions until it crashes, is fenced, or has written a few."""
        settings = {
            "bootstrap.servers": "h:9092", "transactional.id": "tx", "retry.backoff.ms": 10, "max.block.ms": 400,
            "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 20, "request.timeout.ms": 300,
            "batch.size": self.draw.choice([0, 100, 16_384]), "linger.ms": self.draw.choice([0, 0, 5]),
            "delivery.timeout.ms": self.draw.choice([400, 2000]), "metadata.max.age.ms": 500,
        }  # fmt: skip
        producer = AsyncProducer(settings, environment=self._environment())
        try:
            await self._until_done(producer.init_transactions)
            for _ in range(self.draw.randrange(1, 8)):
                await self.transaction(producer)
        except (Crash, TransactionFailed, KafkaError):
            pass
        finally:
            await producer.close(self.draw.choice([0, 0, 1]))

    async def _until_done(self, call: Any) -> None:
        for _ in range(50):
            try:
                await call()
                return
            except ClientTimeout:
                continue
        raise Crash

    async def transaction(self, producer: AsyncProducer) -> None:
        self.number += 1
        number = self.number
        self.sent[number] = []
        await producer.begin_transaction()
        try:
            await self._write(producer, number)
            if self.draw.random() < 0.2:
                await self._until_done(producer.abort_transaction)
                return
            self.unknown.add(number)
            if self.draw.random() > 0.15 or await self._cancelled(producer.commit_transaction()):
                await self._until_done(producer.commit_transaction)
        except TransactionFailed as error:
            if not error.abortable:
                raise
            await self._until_done(producer.abort_transaction)
            self.unknown.discard(number)
        else:
            self.unknown.discard(number)
            self.committed.append(number)

    async def _cancelled(self, call: Any) -> bool:
        """Cancels a call after a while; False when it was over before."""
        task = asyncio.ensure_future(call)
        await asyncio.sleep(self.draw.choice([0, 0.001, 0.02]))
        task.cancel()
        try:
            await task
        except (asyncio.CancelledError, ClientTimeout):
            return True
        return False

    async def _write(self, producer: AsyncProducer, number: int) -> None:
        for index in range(self.draw.randrange(0, 12)):
            self.script_trouble()
            partition = self.draw.randrange(len(PARTITIONS))
            value = b"%d-%d" % (number, index)
            try:
                await producer.send("t", value, partition=partition)
            except ClientTimeout:  # no memory, no metadata: never accepted
                continue
            self.sent[number].append((partition, value))
            if self.draw.random() < 0.1:
                await asyncio.sleep(self.draw.choice([0, 0.002, 0.05]))
            if self.draw.random() < 0.03:
                raise Crash
        if self.draw.random() < 0.5:
            offsets = {PARTITIONS[0]: number}
            if self.draw.random() < 0.1:
                await self._cancelled(producer.send_offsets_to_transaction(offsets, "g"))
            await self._until_done(lambda: producer.send_offsets_to_transaction(offsets, "g"))
            self.sent[number].append((-1, b"offsets"))

    async def read(self) -> list[tuple[int, bytes]]:
        """(partition, value) of all that is committed, in the order of each partition."""
        config = {"bootstrap.servers": "h:9092", "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
        found: list[tuple[int, bytes]] = []
        async with AsyncConsumer(config, environment=self._environment()) as consumer:
            await consumer.assign(PARTITIONS)
            ends = await consumer.end_offsets(PARTITIONS)
            while [each for each in PARTITIONS if await consumer.position(each) < ends[each]]:
                found += [(record.partition, record.value) for record in await consumer.poll(1)]
        return found

    async def play(self) -> None:
        while self.number < 15:
            await self.application()
        self.cluster._troubles.clear()
        self.trouble = 0.0
        last = {"bootstrap.servers": "h:9092", "transactional.id": "tx", "retry.backoff.ms": 10}
        async with AsyncProducer(last, environment=self._environment()) as producer:
            await producer.init_transactions()
        self.check(await self.read())

    def check(self, found: list[tuple[int, bytes]]) -> None:
        assert self.cluster.transactions.violations == []
        seen = {int(value.split(b"-")[0]) for _, value in found}
        effective = sorted({*self.committed, *(seen & self.unknown)})
        for partition in range(len(PARTITIONS)):
            expected = [value for number in effective for where, value in self.sent[number] if where == partition]
            assert [value for where, value in found if where == partition] == expected
        with_offsets = [number for number in effective if (-1, b"offsets") in self.sent[number]]
        offset = self.cluster.groups["g"].offsets.get(PARTITIONS[0], (0, ""))[0]
        allowed = {0 if not with_offsets else with_offsets[-1]}
        allowed |= {number for number in self.unknown if not with_offsets or number > with_offsets[-1]}
        assert offset in allowed


@pytest.mark.parametrize("seed", range(40))
def test_what_was_committed_is_exactly_what_takes_effect(seed: int) -> None:
    run_virtual(Run(seed).play())
