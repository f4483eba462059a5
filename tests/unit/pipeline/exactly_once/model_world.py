"""A cluster of the transactional sink in memory: slots, records, the decision log; every step can be the last one."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.exactly_once import protocol
from kafka_py.pipeline.exactly_once.decisions import (
    Decision,
    DecisionState,
    Driver,
    Outcome,
    Prepared,
    begun_record,
    closed_record,
    decision_records,
    fencing_record,
    finished_records,
    forgotten_slot,
    slot_record,
)
from kafka_py.pipeline.exactly_once.slots import Lease

PREFIX = "p"
SCOPE = "query"


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Transaction:
    """Of one slot. state: open, committed or aborted."""

    epoch: int
    rows: list[str] = field(default_factory=list)
    state: str = "open"


@dataclass
class Cluster:
    """What outlives every process. `step` is called before and after each change."""

    step: Callable[[], None] = lambda: None
    log: list[tuple[bytes, bytes | None, int]] = field(default_factory=list)
    driver_epoch: int = -1
    written_by: int = -1
    slots: dict[str, list[Transaction]] = field(default_factory=dict)
    attempts: int = 0

    def init_slot(self, name: str) -> int:
        history = self.slots.setdefault(name, [])
        if history and history[-1].state == "open":
            history[-1].state = "aborted"
        history.append(Transaction(len(history), state="aborted"))  # nothing is open before the first record
        return len(history) - 1

    def write(self, name: str, epoch: int, row: str) -> None:
        current = self.slots[name][-1]
        if current.epoch != epoch or (current.state == "aborted" and current.rows):
            raise KafkaError(ErrorCode.PRODUCER_FENCED, name)
        current.state = "open"
        current.rows.append(row)

    def time_out(self) -> None:
        for name, history in self.slots.items():
            if history and history[-1].state == "open":
                self.init_slot(name)

    def visible(self) -> list[str]:
        """What a read-committed consumer sees."""
        return sorted(
            row for history in self.slots.values() for each in history if each.state == "committed" for row in each.rows
        )

    def has_open(self) -> bool:
        return any(each.state == "open" for history in self.slots.values() for each in history)


class ModelWorld(protocol.World):
    """One driver's view of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def init_driver(self) -> Driver:
        self.cluster.step()
        self.cluster.driver_epoch += 1
        epoch = self.cluster.driver_epoch
        self.cluster.step()
        return Driver(1, epoch)

    def read_ledger(self, driver: Driver) -> tuple[Driver, DecisionState]:
        self.cluster.step()
        driver = self._note(driver, begun_record(PREFIX, driver))
        return driver, self._ledger(0)

    def _note(self, driver: Driver, *records: tuple[bytes, bytes | None]) -> Driver:
        for record in records:
            self._check(driver, self.cluster.written_by)  # not the coordinator's epoch, only that of the partition
            self._append(driver, record)
            self.cluster.step()
            driver = driver._replace(sequence=driver.sequence + 1)
        return driver

    def _ledger(self, first: int) -> DecisionState:
        ledger = DecisionState(PREFIX, last_offset=len(self.cluster.log) - 1)
        for key, value, _ in self.cluster.log[first:]:
            ledger.apply(key, value)
        return ledger

    def fence(self, transactional_ids):
        leases = []
        for name in transactional_ids:
            self.cluster.step()
            leases.append(Lease(name, 7, self.cluster.init_slot(name)))
        return leases

    def are_open(self, transactions):
        self.cluster.step()
        return [self._of(each).state == "open" for each in transactions]

    def end(self, transactions, *, commit):
        outcomes = []
        for each in transactions:
            self.cluster.step()
            found = self._of(each)
            if found.state == "open":
                found.state = "committed" if commit else "aborted"
            outcomes.append(Outcome.COMMITTED if found.state == "committed" else Outcome.LOST)
        self.cluster.step()
        return outcomes

    def _of(self, prepared: Prepared) -> Transaction:
        return self.cluster.slots[prepared.transactional_id][prepared.epoch]

    def decide(self, driver: Driver, decision: Decision) -> Driver:
        self.cluster.step()
        self._check(driver, self.cluster.driver_epoch)
        for record in decision_records(PREFIX, decision):  # all or none: in a transaction
            self._append(driver, record)
            driver = driver._replace(sequence=driver.sequence + 1)
        self.cluster.step()
        return driver

    def note_finished(self, driver, decision):
        self.cluster.step()
        return self._note(driver, *finished_records(PREFIX, decision))

    def forget(self, driver, transactional_ids):
        self.cluster.step()
        return self._note(driver, *(forgotten_slot(PREFIX, each) for each in transactional_ids))

    def note_fencing(self, driver, *, fences):
        self.cluster.step()
        return self._note(driver, fencing_record(PREFIX, fences=fences))

    def close_batch(self, driver, begun):
        self.cluster.step()
        driver = self._note(driver, closed_record(PREFIX, driver))
        return driver, self._ledger(begun + 1)

    def claim(self, claim, begun):
        self.cluster.step()
        self.cluster.log.append((*slot_record(PREFIX, claim), -1))
        ledger = self._ledger(begun + 1)
        self.cluster.step()
        return ledger

    def _check(self, driver: Driver, newest: int) -> None:
        if driver.epoch < newest:
            raise KafkaError(ErrorCode.PRODUCER_FENCED, "the driver")

    def _append(self, driver: Driver, record: tuple[bytes, bytes | None]) -> None:
        self.cluster.written_by = driver.epoch
        self.cluster.log.append((*record, driver.epoch))


def open_task(cluster: Cluster, start: protocol.Start, task: int, attempt: int = 0) -> Lease:
    """The slot of a task's attempt."""
    cluster.attempts += 1
    return protocol.take_slot(ModelWorld(cluster), start, PREFIX, task, attempt, cluster.attempts)


def run_task(cluster: Cluster, start: protocol.Start, batch: int, task: int, attempt: int = 0) -> Prepared | None:
    """One task of two rows."""
    if start.is_decided(SCOPE, batch):
        return None
    return fill(cluster, open_task(cluster, start, task, attempt), batch, task)


def fill(cluster: Cluster, lease: Lease, batch: int, task: int) -> Prepared:
    """Writes what the task has to, in its slot."""
    for number in range(2):
        cluster.step()
        cluster.write(lease.transactional_id, lease.epoch, row_of(batch, task, number))
    cluster.step()
    return Prepared(*lease, TopicPartition("t", task), 0)


def row_of(batch: int, task: int, number: int) -> str:
    return f"batch {batch} task {task} row {number}"


def expected(batches: int, tasks: int) -> list[str]:
    return sorted(row_of(batch, task, n) for batch in range(batches) for task in range(tasks) for n in range(2))


def commit(world: ModelWorld, start: protocol.Start, batch: int, prepared: list[Prepared]) -> None:
    protocol.commit(world, start.driver, start.begun, SCOPE, batch, prepared)


def run_batch(cluster: Cluster, batch: int, tasks: int, attempt: int = 0, *, accept_torn: bool = False) -> None:
    """A whole batch as a driver runs it; rolled back when it fails."""
    world = ModelWorld(cluster)
    start = protocol.begin(world, accept_torn=accept_torn)
    try:
        prepared = [run_task(cluster, start, batch, task, attempt) for task in range(tasks)]
        commit(world, start, batch, [each for each in prepared if each is not None])
    except KafkaError:
        protocol.abort(world)
        raise
