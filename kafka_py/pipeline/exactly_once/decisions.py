"""What is decided about batches, as values; what follows from the decision log and from ended transactions.

Pure. A batch is known by its scope (a query's id, or the name of a batch write) and its number there; of each scope the
log keeps the latest decision. Layout of the records: docs/exactly-once-sink.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition

WRITE_SCOPE = "write"
"""Of batch writes without a name; their numbers count from 0."""


NO_EPOCH = -1
"""In Finished: of no driver's own batch."""


class Prepared(NamedTuple):
    """A transaction that a task has flushed and left open. written, offset: one record of it."""

    transactional_id: str
    producer_id: int
    epoch: int
    written: TopicPartition
    offset: int


class Driver(NamedTuple):
    """The driver's producer id and epoch, of which only the newest may decide. sequence: of its next record."""

    producer_id: int
    epoch: int
    sequence: int = 0


class Decision(NamedTuple):
    """A batch and, where it commits, the transactions that it consists of; with `commits` false it is to be written."""

    scope: str
    batch: int
    commits: bool
    transactions: tuple[Prepared, ...] = ()


class Finished(NamedTuple):
    """All transactions of the scope's decisions up to this batch are ended; by the driver that decided the batch.

    epoch: NO_EPOCH where another driver has ended them, whose own batch is not written yet.
    """

    scope: str
    batch: int
    producer_id: int
    epoch: int


class Outcome(Enum):
    """What became of a transaction that was to be committed."""

    COMMITTED = "committed"
    LOST = "lost"


class Verdict(Enum):
    """What became of a decided batch."""

    COMMITTED = "committed"
    LOST = "lost"
    TORN = "torn"


def verdict(outcomes: Iterable[Outcome]) -> Verdict:
    """TORN when some transactions are committed and some are lost."""
    found = set(outcomes)
    if Outcome.LOST not in found:
        return Verdict.COMMITTED
    return Verdict.TORN if Outcome.COMMITTED in found else Verdict.LOST


@dataclass
class Ledger:
    """What the decision log says about one prefix. slots: the attempt number of every slot that tasks have used."""

    prefix: str
    decisions: dict[str, Decision] = field(default_factory=dict)
    finished: dict[str, Finished] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)

    def apply(self, key: bytes | None, value: bytes | None) -> None:
        """Takes one record in; those of other prefixes change nothing. Raises KafkaError for one that is malformed."""
        read = _key_of(key)
        if read is None or read[0] != self.prefix:
            return
        _, kind, name = read
        try:
            content = None if value is None else json.loads(value)
            if content is None:
                self._forget(kind, name)
            elif kind == "slot":
                self.slots[name] = int(content["attempt"])
            elif kind == "decision":
                self.decisions[name] = _decision(name, content)
            elif kind == "finished":
                self.finished[name] = Finished(name, int(content["batch"]), *map(int, content["driver"]))
        except (KeyError, TypeError, ValueError) as error:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"the decision log has a malformed record with the key {key!r}: {error!r}"
            ) from error

    def _forget(self, kind: str, name: str) -> None:
        kinds: dict[str, dict[str, Any]] = {
            "decision": self.decisions, "finished": self.finished, "slot": self.slots,
        }  # fmt: skip
        kinds.get(kind, {}).pop(name, None)

    def unfinished(self) -> list[Decision]:
        """Decisions to commit that are not noted as finished."""
        return [each for each in self.decisions.values() if each.commits and each.batch > self._finished(each.scope)]

    def _finished(self, scope: str) -> int:
        found = self.finished.get(scope)
        return -1 if found is None else found.batch

    def leftovers(self, driver: Driver) -> list[str]:
        """Slots that may have a transaction open.

        After a batch that was finished, by the driver just before this one, those of later attempts only: the next
        first attempts fence their own.
        """
        former = (driver.producer_id, driver.epoch - 1)
        was_finished = any((each.producer_id, each.epoch) == former for each in self.finished.values())
        return sorted(name for name, attempt in self.slots.items() if attempt or not was_finished)


def is_decided(latest: Decision | None, batch: int) -> bool:
    """latest: the latest decision of the batch's scope."""
    if latest is None:
        return False
    return batch < latest.batch or (batch == latest.batch and latest.commits)


def decision_record(prefix: str, decision: Decision) -> tuple[bytes, bytes]:
    """Key and value."""
    transactions = [[*each[:3], *each.written, each.offset] for each in decision.transactions]
    return _key(prefix, "decision", decision.scope), _json(
        {"batch": decision.batch, "commits": decision.commits, "transactions": transactions}
    )


def finished_record(prefix: str, finished: Finished) -> tuple[bytes, bytes]:
    """Key and value."""
    driver = [finished.producer_id, finished.epoch]
    return _key(prefix, "finished", finished.scope), _json({"batch": finished.batch, "driver": driver})


def begun_record(prefix: str, driver: Driver) -> tuple[bytes, bytes]:
    """Key and value. Only its append matters: that fences former drivers, and gives an offset to read up to."""
    return _key(prefix, "begun", "driver"), _json({"driver": [driver.producer_id, driver.epoch]})


def slot_record(prefix: str, task: int, attempt: int) -> tuple[bytes, bytes]:
    """Key and value."""
    return _key(prefix, "slot", slot_id(prefix, task, attempt)), _json({"attempt": attempt})


def driver_id(prefix: str) -> str:
    return f"{prefix}-driver"


def slot_id(prefix: str, task: int, attempt: int) -> str:
    return f"{prefix}-{task}-{attempt}"


def named(transactions: Sequence[Prepared]) -> str:
    """Transactions for a message: the first few, with a partition of each."""
    some = ", ".join(f"{each.transactional_id} (with records in {each.written})" for each in transactions[:5])
    more = len(transactions) - 5
    return f"{some} and {more} more" if more > 0 else some


def _decision(scope: str, content: dict[str, Any]) -> Decision:
    transactions = tuple(
        Prepared(str(name), int(producer_id), int(epoch), TopicPartition(str(topic), int(partition)), int(offset))
        for name, producer_id, epoch, topic, partition, offset in content["transactions"]
    )
    return Decision(scope, int(content["batch"]), bool(content["commits"]), transactions)


def _key(*parts: str) -> bytes:
    return _json(list(parts))


def _key_of(key: bytes | None) -> tuple[str, str, str] | None:
    """Prefix, kind and name; None for a key that is not of our making."""
    try:
        parts = json.loads(key or b"null")
    except ValueError:
        return None
    if not isinstance(parts, list) or len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        return None
    return parts[0], parts[1], parts[2]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
