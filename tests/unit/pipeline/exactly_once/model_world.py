"""A cluster of the transactional sink in memory: slots, records, the decision log; every step can be the last one."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.exactly_once import protocol
from kafka_py.pipeline.exactly_once.decisions import (
    Decision,
    Driver,
    Finished,
    Ledger,
    Outcome,
    Prepared,
    begun_record,
    decision_record,
    finished_record,
    slot_id,
    slot_record,
)

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
    log: list[tuple[bytes, bytes, int]] = field(default_factory=list)
    driver_epoch: int = -1
    written_by: int = -1
    slots: dict[str, list[Transaction]] = field(default_factory=dict)

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

    def read_ledger(self, driver: Driver) -> tuple[Driver, Ledger]:
        self.cluster.step()
        self._check(driver, self.cluster.written_by)
        self._append(driver, begun_record(PREFIX, driver))
        self.cluster.step()
        ledger = Ledger(PREFIX)
        for key, value, _ in self.cluster.log:
            ledger.apply(key, value)
        return driver._replace(sequence=driver.sequence + 1), ledger

    def fence(self, transactional_ids):
        for name in transactional_ids:
            self.cluster.step()
            self.cluster.init_slot(name)

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
        self._append(driver, decision_record(PREFIX, decision))
        self.cluster.step()
        return driver._replace(sequence=driver.sequence + 1)

    def note_finished(self, driver: Driver, finished: Finished) -> Driver:
        self.cluster.step()
        self._check(driver, self.cluster.written_by)  # not the coordinator's epoch, only that of the partition
        self._append(driver, finished_record(PREFIX, finished))
        self.cluster.step()
        return driver._replace(sequence=driver.sequence + 1)

    def _check(self, driver: Driver, newest: int) -> None:
        if driver.epoch < newest:
            raise KafkaError(ErrorCode.PRODUCER_FENCED, "the driver")

    def _append(self, driver: Driver, record: tuple[bytes, bytes]) -> None:
        self.cluster.written_by = driver.epoch
        self.cluster.log.append((*record, driver.epoch))


def run_task(cluster: Cluster, start: protocol.Start, batch: int, task: int, attempt: int = 0) -> Prepared | None:
    """One task of two rows."""
    if start.is_decided(SCOPE, batch):
        return None
    name = slot_id(PREFIX, task, attempt)
    if name not in start.slots:
        cluster.step()
        cluster.log.append((*slot_record(PREFIX, task, attempt), -1))
    cluster.step()
    epoch = cluster.init_slot(name)
    for number in range(2):
        cluster.step()
        cluster.write(name, epoch, row_of(batch, task, number))
    cluster.step()
    return Prepared(name, 7, epoch, TopicPartition("t", task), 0)


def row_of(batch: int, task: int, number: int) -> str:
    return f"batch {batch} task {task} row {number}"


def expected(batches: int, tasks: int) -> list[str]:
    return sorted(row_of(batch, task, n) for batch in range(batches) for task in range(tasks) for n in range(2))


def run_batch(cluster: Cluster, batch: int, tasks: int, attempt: int = 0, *, accept_torn: bool = False) -> None:
    """A whole batch as a driver runs it; rolled back when it fails."""
    world = ModelWorld(cluster)
    start = protocol.begin(world, accept_torn=accept_torn)
    try:
        prepared = [run_task(cluster, start, batch, task, attempt) for task in range(tasks)]
        protocol.commit(world, start.driver, SCOPE, batch, [each for each in prepared if each is not None])
    except KafkaError:
        protocol.abort(world)
        raise
