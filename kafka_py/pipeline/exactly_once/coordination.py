"""The driver's steps carried out on a cluster: transactions through their coordinators, decisions through the log.

Blocking, on a link of its own. Names, time-outs and the topic come from the sink's options.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.transaction_calls import ENDED, ProducerEpoch, TransactionCalls
from kafka_py.pipeline.exactly_once.decision_log import DecisionLog, create_topic
from kafka_py.pipeline.exactly_once.decisions import (
    Decision,
    DecisionState,
    Driver,
    Outcome,
    Prepared,
    begun_record,
    closed_record,
    decision_records,
    driver_id,
    fencing_record,
    finished_records,
    forgotten_slot,
    slot_record,
)
from kafka_py.pipeline.exactly_once.protocol import World
from kafka_py.pipeline.exactly_once.slots import Claim, Lease
from kafka_py.pipeline.links import Link

DRIVER_TIMEOUT_MS = 60_000
"""transaction.timeout.ms of the driver's own transactions, which hold one record each."""

PATIENCE_S = 60.0
"""How long a step is retried while brokers are away."""

PAUSE_MS = 20.0

Record = tuple[bytes, bytes | None]


@dataclass(frozen=True)
class SinkName:
    """What the transactions of a sink go by, and where its decisions are. timeout_ms: of its tasks' transactions."""

    prefix: str
    topic: str
    timeout_ms: int


class ClusterWorld(World):
    """The steps on one cluster. settings: of the client. link: to that cluster, kept for the next batch; or its own."""

    def __init__(self, name: SinkName, settings: dict[str, str], link: Link | None = None) -> None:
        self._name = name
        self._settings = settings
        self._owns_link = link is None
        self._link = Link(settings) if link is None else link
        self._log = DecisionLog(self._link, name.topic, patience_s=PATIENCE_S)
        self._made_calls: TransactionCalls | None = None

    def close(self) -> None:
        if self._owns_link:
            self._link.close()

    def __enter__(self) -> ClusterWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _calls(self) -> TransactionCalls:
        if self._made_calls is None:
            cluster = await self._link.cluster()
            self._made_calls = TransactionCalls(cluster, timeout_ms=PATIENCE_S * 1000, pause_ms=PAUSE_MS)
        return self._made_calls

    def init_driver(self) -> Driver:
        if not self._log.is_known():
            self._create_log()
        return Driver(*self._link.run(self._init(driver_id(self._name.prefix), DRIVER_TIMEOUT_MS)))

    def _create_log(self) -> None:
        """Creates the topic, at once: to wait until it is surely missing would cost the first batch seconds."""
        try:
            create_topic(self._settings, self._name.topic)
        except KafkaError:
            if not self._log.exists():  # who may not create it still may use it
                raise

    async def _init(self, transactional_id: str, timeout_ms: int) -> ProducerEpoch:
        try:
            return await (await self._calls()).init_producer_id(transactional_id, timeout_ms)
        except KafkaError as error:
            if error.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                detail = f"kafka.transaction.timeout.ms is {timeout_ms}, above the brokers' transaction.max.timeout.ms"
                raise KafkaError(error.code, detail) from error
            raise

    def read_ledger(self, driver: Driver) -> tuple[Driver, DecisionState]:
        last, driver = self._note(driver, begun_record(self._name.prefix, driver))
        return driver, self._ledger(None, last)

    def _note(self, driver: Driver, *records: Record) -> tuple[int, Driver]:
        """Appends records of the driver, one by one; returns the offset of the last one, and the driver after them."""
        offset = -1
        for record in records:
            offset = self._log.append(record, _now_ms(), driver)
            driver = driver._replace(sequence=driver.sequence + 1)
        return offset, driver

    def _ledger(self, after: int | None, last: int) -> DecisionState:
        """What the log says from behind the offset `after` (None: from its start) to the offset `last`."""
        ledger = DecisionState(self._name.prefix, last_offset=last)
        for key, value in self._log.records(last, None if after is None else after + 1):
            ledger.apply(key, value)
        return ledger

    def fence(self, transactional_ids: Collection[str]) -> list[Lease]:
        return self._link.run(self._fence(transactional_ids))

    async def _fence(self, transactional_ids: Collection[str]) -> list[Lease]:
        calls = await self._calls()
        fenced = await calls.each([self._init(each, self._name.timeout_ms) for each in transactional_ids])
        return [Lease(name, *each) for name, each in zip(transactional_ids, fenced, strict=True)]

    def are_open(self, transactions: Sequence[Prepared]) -> list[bool]:
        return self._link.run(self._are_open(transactions))

    async def _are_open(self, transactions: Sequence[Prepared]) -> list[bool]:
        calls = await self._calls()

        async def is_open(each: Prepared) -> bool:
            # To add a partition that takes part already changes nothing, and checks producer id and epoch.
            return await _unless_ended(calls.add_partitions(each.transactional_id, _producer(each), [each.written]))

        return await calls.each([is_open(each) for each in transactions])

    def end(self, transactions: Sequence[Prepared], *, commit: bool) -> list[Outcome]:
        ended = self._link.run(self._end(transactions, commit=commit))
        return [
            Outcome.COMMITTED if commit and (is_ended or self._was_committed(each)) else Outcome.LOST
            for each, is_ended in zip(transactions, ended, strict=True)
        ]

    async def _end(self, transactions: Sequence[Prepared], *, commit: bool) -> list[bool]:
        calls = await self._calls()
        return await calls.each(
            [_unless_ended(calls.end(each.transactional_id, _producer(each), commit=commit)) for each in transactions]
        )

    def _was_committed(self, prepared: Prepared) -> bool:
        return self._log.was_committed(prepared.written, prepared.offset, prepared.producer_id)

    def decide(self, driver: Driver, decision: Decision) -> Driver:
        name, producer = driver_id(self._name.prefix), ProducerEpoch(driver.producer_id, driver.epoch)
        try:
            self._link.run(self._add_log(name, producer))
            for record in decision_records(self._name.prefix, decision):
                self._log.append(record, _now_ms(), driver, name)
                driver = driver._replace(sequence=driver.sequence + 1)
            self._link.run(self._commit_decision(name, producer))
        except KafkaError as error:
            raise _fenced(error, self._name.prefix) from error
        return driver

    async def _add_log(self, name: str, producer: ProducerEpoch) -> None:
        await (await self._calls()).add_partitions(name, producer, [self._log.partition])

    async def _commit_decision(self, name: str, producer: ProducerEpoch) -> None:
        await (await self._calls()).end(name, producer, commit=True)

    def note_finished(self, driver: Driver, decision: Decision) -> Driver:
        return self._note(driver, *finished_records(self._name.prefix, decision))[1]

    def forget(self, driver: Driver, transactional_ids: Collection[str]) -> Driver:
        return self._note(driver, *(forgotten_slot(self._name.prefix, each) for each in transactional_ids))[1]

    def note_fencing(self, driver: Driver, *, fences: bool) -> Driver:
        return self._note(driver, fencing_record(self._name.prefix, fences=fences))[1]

    def close_batch(self, driver: Driver, begun: int) -> tuple[Driver, DecisionState]:
        last, driver = self._note(driver, closed_record(self._name.prefix, driver))
        return driver, self._ledger(begun, last)

    def claim(self, claim: Claim, begun: int) -> DecisionState:
        last = self._log.append(slot_record(self._name.prefix, claim), _now_ms())
        return self._ledger(begun, last)


async def _unless_ended(call: Any) -> bool:
    """Whether the coordinator did as asked; False when it says that the transaction has ended."""
    try:
        await call
    except KafkaError as error:
        if error.code in ENDED:
            return False
        raise
    return True


def _producer(prepared: Prepared) -> ProducerEpoch:
    return ProducerEpoch(prepared.producer_id, prepared.epoch)


def _fenced(error: KafkaError, prefix: str) -> KafkaError:
    if error.code not in ENDED:
        return error
    return KafkaError(
        ErrorCode.PRODUCER_FENCED,
        f"the batch is not decided here: another driver has begun with transactionalIdPrefix {prefix}. A prefix is for "
        f"one running query ({error.message})",
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
