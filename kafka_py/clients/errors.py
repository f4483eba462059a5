"""Errors of clients only; errors of the protocol are KafkaErrors of base.

`KafkaError.retriable` distinguishes errors that may disappear from permanent ones. The classes here are for cases that
callers catch by name.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition


def error_code(number: int) -> ErrorCode:
    """The error code of a response; UNKNOWN_SERVER_ERROR for an unknown number."""
    known = ErrorCode._value2member_map_.get(number, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert isinstance(known, ErrorCode)
    return known


class ClientTimeout(KafkaError):
    """A call has timed out; the request may still be carried out."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.REQUEST_TIMED_OUT, detail)


class AuthenticationError(KafkaError):
    """Client and broker do not accept each other: certificates, TLS versions or credentials. Not retried."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.SASL_AUTHENTICATION_FAILED, detail)

    def __str__(self) -> str:
        return self.detail


class BufferExhausted(ClientTimeout):
    """buffer.memory stayed exhausted for max.block.ms."""


class NoOffsetForPartition(KafkaError):
    """A partition has no position and auto.offset.reset is `none`."""

    def __init__(self, partitions: Collection[TopicPartition]) -> None:
        names = ", ".join(str(partition) for partition in sorted(partitions))
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"no position, and auto.offset.reset is none, for {names}"
        )
        self.partitions = frozenset(partitions)


class OffsetOutOfRange(KafkaError):
    """Positions outside of their logs, with auto.offset.reset `none`; `offsets` contains the positions."""

    def __init__(self, offsets: dict[TopicPartition, int]) -> None:
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            "positions outside their logs, and auto.offset.reset is none: "
            + ", ".join(f"{partition} at {offset}" for partition, offset in sorted(offsets.items())),
        )
        self.offsets = offsets


class WakeupError(Exception):
    """The call was interrupted by wakeup()."""


class IllegalState(RuntimeError):
    """The call is not possible in the client's present state: closed, not assigned, used by another thread."""


class ConcurrentModification(IllegalState):
    """Two threads, or two tasks, use a consumer at the same time; only `wakeup` may be called concurrently."""

    def __init__(self) -> None:
        super().__init__("another thread or task is using this consumer now; only wakeup may be called from elsewhere")


class CommitFailed(KafkaError):
    """The partitions were reassigned to other members, which will read the uncommitted records again."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(
            code,
            "the commit was refused: this consumer is no longer a member of its group, and others may read its "
            "partitions. Poll more often than max.poll.interval.ms, or lower max.poll.records.",
        )


class RebalanceInProgress(KafkaError):
    """The group is rebalancing: commit after the next poll."""

    def __init__(self) -> None:
        super().__init__(
            ErrorCode.REBALANCE_IN_PROGRESS,
            "the commit was refused while the group rebalances. Poll until that is over, then commit what is still "
            "assigned.",
        )


class LogTruncation(KafkaError):
    """Records below the position were truncated, with auto.offset.reset `none`.

    diverging_offset: the first truncated offset; None if the leader does not know it.
    """

    def __init__(self, partition: TopicPartition, offset: int | None, diverging_offset: int | None) -> None:
        known = "" if diverging_offset is None else f" The logs diverge at offset {diverging_offset}."
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"the log of {partition} was truncated below offset {offset}, and auto.offset.reset is none.{known}",
        )
        self.partition = partition
        self.diverging_offset = diverging_offset


class TransactionFailed(KafkaError):
    """The open transaction cannot be committed, or its producer cannot be used any longer.

    abortable: after `abort_transaction` the producer can begin another transaction; else it has to be closed.
    """

    def __init__(self, code: ErrorCode, detail: str, *, abortable: bool) -> None:
        super().__init__(code, detail)
        self.abortable = abortable


class ProducerFenced(TransactionFailed):
    """Another producer has taken over the transactional id, or the coordinator has timed the transaction out."""

    def __init__(self, transactional_id: str, producer_id: int, epoch: int, timeout_ms: int) -> None:
        super().__init__(
            ErrorCode.PRODUCER_FENCED,
            f"the producer with transactional.id {transactional_id!r} (producer id {producer_id}, epoch {epoch}) is "
            "fenced: another producer has called init_transactions with the same transactional.id since, or its "
            f"transaction was open for longer than transaction.timeout.ms, {timeout_ms} ms. Close it",
            abortable=False,
        )


class TransactionAborted(KafkaError):
    """A record that was not sent because its transaction was aborted."""

    def __init__(self, cause: KafkaError | None = None) -> None:
        because = "" if cause is None else f"; it had failed with {cause}"
        super().__init__(
            ErrorCode.OPERATION_NOT_ATTEMPTED, f"its transaction was aborted before this was sent{because}"
        )
