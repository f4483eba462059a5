"""What is decided about batches, as values and as records; what follows from the decision log.

Pure. A batch is known by its scope (a query's id, or the name of a batch write) and its number there; of each scope the
log keeps the latest decision. Which attempt of a task may write under which transactional id is in slots.py.
Layout of the records: docs/exactly-once-sink.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.transaction_calls import ProducerEpoch
from kafka_py.pipeline.exactly_once.slots import Claim

WRITE_SCOPE = "write"
"""Of batch writes without a name; their numbers count from 0."""

PART_BYTES = 256 * 1024
"""About the most that one record of a decision holds: the brokers' message.max.bytes bounds it."""


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

    @property
    def identity(self) -> ProducerEpoch:
        return ProducerEpoch(self.producer_id, self.epoch)


class Decision(NamedTuple):
    """A batch and, where it commits, the transactions that it consists of; with `commits` false it is to be written."""

    scope: str
    batch: int
    commits: bool
    transactions: tuple[Prepared, ...] = ()


class Finished(NamedTuple):
    """All transactions of the scope's decisions up to this batch are ended."""

    scope: str
    batch: int


class Outcome(Enum):
    """What became of a transaction that was to be committed."""

    COMMITTED = "committed"
    LOST = "lost"


class BatchVerdict(Enum):
    """What became of a decided batch."""

    COMMITTED = "committed"
    LOST = "lost"
    TORN = "torn"


def verdict(outcomes: Iterable[Outcome]) -> BatchVerdict:
    """TORN when some transactions are committed and some are lost."""
    found = set(outcomes)
    if Outcome.LOST not in found:
        return BatchVerdict.COMMITTED
    return BatchVerdict.TORN if Outcome.COMMITTED in found else BatchVerdict.LOST


@dataclass
class DecisionState:
    """What the decision log, or a part of it, says about one prefix.

    slots: the latest claim of every slot. claims: all of them, in their order. begun, closed: the last driver whose
    batch has begun, or is closed. former_fences: whether the driver before the last one that began was raising epochs
    of slots. last_offset: of the last record read.
    """

    prefix: str
    decisions: dict[str, Decision] = field(default_factory=dict)
    finished: dict[str, Finished] = field(default_factory=dict)
    slots: dict[str, Claim] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    begun: ProducerEpoch | None = None
    closed: ProducerEpoch | None = None
    former_fences: bool = False
    last_offset: int = -1
    _fences: bool = False
    _parts: dict[str, Decision] = field(default_factory=dict)
    _part_counts: dict[str, int] = field(default_factory=dict)

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
            else:
                self._take(kind, name, content)
        except (KeyError, TypeError, ValueError) as error:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"the decision log has a malformed record with the key {key!r}: {error!r}"
            ) from error

    def _take(self, kind: str, name: str, content: dict[str, Any]) -> None:
        match kind:
            case "slot":
                claim = _claim(name, content)
                self.slots[name] = claim
                self.claims.append(claim)
            case "decision":
                self.decisions[name] = _decision(name, content)
                self._part_counts[name] = int(content.get("parts", 0))
            case "part":
                self._parts[name] = _decision(name, content)
            case "finished":
                self.finished[name] = Finished(name, int(content["batch"]))
            case "begun":
                self.begun = _driver(content)
                self.former_fences, self._fences = self._fences, True
            case "fencing":
                self._fences = bool(content["fences"])
            case "closed":
                self.closed = _driver(content)

    def _forget(self, kind: str, name: str) -> None:
        kinds: dict[str, dict[str, Any]] = {
            "decision": self.decisions, "part": self._parts, "finished": self.finished, "slot": self.slots,
        }  # fmt: skip
        kinds.get(kind, {}).pop(name, None)

    def unfinished(self) -> list[Decision]:
        """Decisions to commit that are not noted as finished. Raises KafkaError where a part of one is missing."""
        return [self._whole(each) for each in self.decisions.values()
                if each.commits and each.batch > self._finished(each.scope)]  # fmt: skip

    def _finished(self, scope: str) -> int:
        found = self.finished.get(scope)
        return -1 if found is None else found.batch

    def _whole(self, decision: Decision) -> Decision:
        """With the transactions of all its records."""
        transactions: list[Prepared] = []
        for number in range(self._part_counts.get(decision.scope, 0)):
            part = self._parts.get(_part_name(number, decision.scope))
            if part is None or part.batch != decision.batch:
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"the decision log lacks part {number} of the decision about batch {decision.batch} of "
                    f"{decision.scope}, prefix {self.prefix}",
                )
            transactions += part.transactions
        return decision._replace(transactions=(*transactions, *decision.transactions))


def is_decided(latest: Decision | None, batch: int) -> bool:
    """latest: the latest decision of the batch's scope."""
    if latest is None:
        return False
    return batch < latest.batch or (batch == latest.batch and latest.commits)


def decision_records(prefix: str, decision: Decision) -> list[tuple[bytes, bytes]]:
    """Keys and values. Transactions that one record cannot hold are in others, the parts, before it.

    They belong to one transaction of the driver: after a kill between them none of them counts.
    """
    pieces = _pieces(decision.transactions)
    head = {"batch": decision.batch, "commits": decision.commits, "transactions": pieces.pop()}
    parts = [{"batch": decision.batch, "commits": decision.commits, "transactions": each} for each in pieces]
    if parts:
        head["parts"] = len(parts)
    return [
        *((_key(prefix, "part", _part_name(number, decision.scope)), _json(each)) for number, each in enumerate(parts)),
        (_key(prefix, "decision", decision.scope), _json(head)),
    ]


def _pieces(transactions: Sequence[Prepared]) -> list[list[list[Any]]]:
    """Transactions as JSON has them, cut into pieces of about PART_BYTES; at least one piece."""
    pieces: list[list[list[Any]]] = [[]]
    size = 0
    for each in transactions:
        row = [*each[:3], *each.written, each.offset]
        row_size = len(_json(row)) + 1
        if size + row_size > PART_BYTES and pieces[-1]:
            pieces.append([])
            size = 0
        pieces[-1].append(row)
        size += row_size
    return pieces


def _part_name(number: int, scope: str) -> str:
    return f"{number}/{scope}"


def finished_records(prefix: str, decision: Decision) -> list[tuple[bytes, bytes | None]]:
    """Keys and values: the decision is finished; then its parts, which nobody needs any longer, are deleted."""
    return [
        (_key(prefix, "finished", decision.scope), _json({"batch": decision.batch})),
        *((key, None) for key, _ in decision_records(prefix, decision)[:-1]),
    ]


def begun_record(prefix: str, driver: Driver) -> tuple[bytes, bytes]:
    """Key and value. Its append fences former drivers, and gives an offset to read up to."""
    return _key(prefix, "begun", "driver"), _json({"driver": [driver.producer_id, driver.epoch]})


def fencing_record(prefix: str, *, fences: bool) -> tuple[bytes, bytes]:
    """Key and value: whether this driver is raising epochs of slots, as it does from the begun record on."""
    return _key(prefix, "fencing", "driver"), _json({"fences": fences})


def closed_record(prefix: str, driver: Driver) -> tuple[bytes, bytes]:
    """Key and value. No attempt that claims a slot of this driver behind it may write."""
    return _key(prefix, "closed", "driver"), _json({"driver": [driver.producer_id, driver.epoch]})


def slot_record(prefix: str, claim: Claim) -> tuple[bytes, bytes]:
    """Key and value."""
    value = {"task": claim.task, "attempt": claim.attempt, "claimant": claim.claimant, "driver": [*claim.driver]}
    return _key(prefix, "slot", claim.transactional_id), _json(value)


def forgotten_slot(prefix: str, transactional_id: str) -> tuple[bytes, None]:
    """Key and no value: the slot is not used again."""
    return _key(prefix, "slot", transactional_id), None


def driver_id(prefix: str) -> str:
    return f"{prefix}-driver"


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


def _driver(content: dict[str, Any]) -> ProducerEpoch:
    producer_id, epoch = content["driver"]
    return ProducerEpoch(int(producer_id), int(epoch))


def _claim(name: str, content: dict[str, Any]) -> Claim:
    return Claim(
        name, int(content["task"]), int(content["attempt"]), int(content["claimant"]), _driver(content)
    )


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
