"""The commands of transaction transcripts: one id, decided by coordinator/transactions/machine.py and shown as text.

No store, no loop and no clock take part: time passes by a command, and a record is written when a command says so.

    init [producer=1000:0] [timeout=60000]      add t-0 t-1 [producer=1000:0]      commit      abort [producer=1000:0]
    written      failed NOT_COORDINATOR      markers complete      markers fenced      pass 60000      look
    epoch 32765      fail-over

A request names the producer id and epoch that the id has, unless `producer` says another; an init names none then.
Producer ids count from 1000. `look` is the clock: aborts what is timed out, removes what has expired. `epoch` jumps to
an epoch of the producer as if it were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.transactions.machine import TransactionMoment, handle, refusal
from kafka_py.coordinator.transactions.markers import MarkerOutcome
from kafka_py.coordinator.transactions.outcome import TransactionOutcome
from kafka_py.coordinator.transactions.records import TransactionValueReader, transaction_value
from kafka_py.coordinator.transactions.requests import (
    AbortIfTimedOut,
    AddPartitions,
    Appended,
    EndTransaction,
    InitProducer,
    MarkersEnded,
    ProducerIdAndEpoch,
    RemoveIfExpired,
    Restored,
    TransactionEvent,
    TransactionReply,
)
from kafka_py.coordinator.transactions.transaction import Transaction, TransactionMetadata

Options = dict[str, str]

ID = "tx"
TIMEOUT_MS = "60000"


class TransactionScript:
    """One transactional id and what was asked of it. stored: the last value that was written."""

    def __init__(self) -> None:
        self.limits = CoordinatorOptions.parse({})
        self.now_ms = 0
        self.coordinator_epoch = 0
        self.transaction: Transaction | None = None
        self.stored: bytes | None = None
        self.unwritten: bytes | None = None
        self._producer_ids = count(1000)
        self._shown = self._state()
        self._commands: dict[str, Callable[[list[str], Options], Iterator[str]]] = {
            "init": self._init,
            "add": self._add,
            "commit": lambda words, options: self._end(options, is_commit=True),
            "abort": lambda words, options: self._end(options, is_commit=False),
            "written": self._written,
            "failed": self._written,
            "markers": self._markers,
            "pass": self._pass,
            "look": self._look,
            "epoch": self._epoch,
            "fail-over": self._fail_over,
        }

    def perform(self, command: str) -> list[str]:
        """What comes of one command, as lines."""
        name, *words = command.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        lines = list(self._commands[name]([word for word in words if "=" not in word], options))
        state = self._state()
        if state != self._shown:
            self._shown = state
            lines.append(state)
        return lines or ["nothing"]

    # ---- requests

    def _init(self, _words: list[str], options: Options) -> Iterator[str]:
        expected = _producer(options["producer"]) if "producer" in options else None
        request = InitProducer(int(options.get("timeout", TIMEOUT_MS)), expected)
        refused = refusal(ID, request.timeout_ms, self.limits)
        if refused is not None:
            yield f"answered: {refused.name}"
            return
        if self.transaction is None:
            self.transaction = Transaction.new(ID, next(self._producer_ids), request.timeout_ms, self.now_ms)
        outcome = self._decide(request)
        if outcome.needs_producer_id:
            outcome = self._decide(request._replace(fresh_producer_id=next(self._producer_ids)))
        yield from self._show(outcome)

    def _add(self, words: list[str], options: Options) -> Iterator[str]:
        partitions = (word.rpartition("-") for word in words)
        added = tuple(TopicPartition(topic, int(number)) for topic, _, number in partitions)
        yield from self._show(self._decide(AddPartitions(*self._speaker(options), added)))

    def _end(self, options: Options, *, is_commit: bool) -> Iterator[str]:
        yield from self._show(self._decide(EndTransaction(*self._speaker(options), is_commit)))

    def _speaker(self, options: Options) -> ProducerIdAndEpoch:
        if "producer" in options:
            return _producer(options["producer"])
        assert self.transaction is not None, "nobody has asked for the id yet"
        metadata = self.transaction.metadata
        return ProducerIdAndEpoch(metadata.producer_id, metadata.producer_epoch)

    # ---- records, markers, time, the coordinator

    def _written(self, words: list[str], _options: Options) -> Iterator[str]:
        error = ErrorCode[words[0]] if words else ErrorCode.NONE
        if error is ErrorCode.NONE:
            self.stored = self.unwritten
        yield from self._show(self._decide(Appended(error)))

    def _markers(self, words: list[str], _options: Options) -> Iterator[str]:
        yield from self._show(self._decide(MarkersEnded(MarkerOutcome(words[0]))))

    def _pass(self, words: list[str], _options: Options) -> Iterator[str]:
        self.now_ms += int(words[0])
        return iter(())

    def _look(self, _words: list[str], _options: Options) -> Iterator[str]:
        yield from self._show(self._decide(AbortIfTimedOut()))
        yield from self._show(self._decide(RemoveIfExpired()))

    def _epoch(self, words: list[str], _options: Options) -> Iterator[str]:
        assert self.transaction is not None, "nobody has asked for the id yet"
        self.transaction.metadata = self.transaction.metadata._replace(producer_epoch=int(words[0]))
        self.stored = transaction_value(self.transaction.metadata)
        return iter(())

    def _fail_over(self, _words: list[str], _options: Options) -> Iterator[str]:
        """Another broker, with the same clock, reads the id; what was on its way is lost."""
        self.coordinator_epoch += 1
        self.unwritten = None
        self.transaction = None if self.stored is None else Transaction(ID, TransactionValueReader().read(self.stored))
        if self.transaction is not None:
            yield from self._show(self._decide(Restored()))

    # ---- what comes of it

    def _decide(self, event: TransactionEvent) -> TransactionOutcome:
        assert self.transaction is not None, "nobody has asked for the id yet"
        return handle(
            self.transaction, event, TransactionMoment(self.now_ms, self.coordinator_epoch, self.limits)
        )

    def _show(self, outcome: TransactionOutcome) -> Iterator[str]:
        if outcome.note:
            yield f"{'warning' if outcome.is_warning else 'note'}: {outcome.note}"
        if outcome.record is not None:
            self.unwritten = transaction_value(outcome.record)
            yield f"write {_described(outcome.record)}"
        if outcome.tombstone:
            self.unwritten = None
            yield "write tombstone"
        if outcome.append_failures:
            yield "write again later"
        if outcome.is_removed:
            self.transaction = None
            yield "removed"
        if outcome.markers is not None:
            markers = outcome.markers
            what = "commit" if markers.is_commit else "abort"
            where = " ".join(str(each) for each in markers.partitions) or "no partitions"
            yield (
                f"send {what} of {markers.producer_id}:{markers.producer_epoch} in coordinator epoch "
                f"{markers.coordinator_epoch}: {where}"
            )
        if outcome.reply is not None:
            or_waits = ", or waits until the id is free" if outcome.may_wait else ""
            yield f"answered: {_answer(outcome.reply)}{or_waits}"

    def _state(self) -> str:
        return "unknown" if self.transaction is None else f"id is {_described(self.transaction.metadata)}"


def _producer(text: str) -> ProducerIdAndEpoch:
    producer_id, _, epoch = text.partition(":")
    return ProducerIdAndEpoch(int(producer_id), int(epoch))


def _described(metadata: TransactionMetadata) -> str:
    partitions = "".join(f" {each}" for each in metadata.partitions)
    started = f", since {metadata.start_ms} ms" if metadata.start_ms >= 0 else ""
    return f"{metadata.state.name} of {metadata.producer_id}:{metadata.producer_epoch}{started}{partitions}"


def _answer(reply: TransactionReply) -> str:
    if reply.error is ErrorCode.NONE and reply.producer_id >= 0:
        return f"producer {reply.producer_id}:{reply.producer_epoch}"
    return reply.error.name
