"""Transactions as `with` blocks: committed at the end, aborted when an exception leaves the block.

    with producer.transaction():
        producer.send("topic", b"value")

An exception, KeyboardInterrupt and the cancellation of a task included, aborts the transaction and is then re-raised.
When that abort fails as well, as it does after the producer was fenced, a note on the exception says so.
"""

from __future__ import annotations

from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from kafka_py.base.errors import KafkaError
from kafka_py.clients.errors import IllegalState, TransactionFailed


class BlockingTransactions(Protocol):
    """What a `with` block needs of a producer."""

    def begin_transaction(self) -> None: ...

    def commit_transaction(self) -> None: ...

    def abort_transaction(self) -> None: ...


class AsyncTransactions(Protocol):
    """What an `async with` block needs of a producer."""

    def begin_transaction(self) -> Coroutine[Any, Any, None]: ...

    def commit_transaction(self) -> Coroutine[Any, Any, None]: ...

    def abort_transaction(self) -> Coroutine[Any, Any, None]: ...


P = TypeVar("P", bound=BlockingTransactions)
A = TypeVar("A", bound=AsyncTransactions)


class TransactionScope(Generic[P]):
    """One transaction of a blocking producer, or several, one after the other."""

    def __init__(self, producer: P) -> None:
        self._producer = producer

    def __enter__(self) -> P:
        self._producer.begin_transaction()
        return self._producer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._abort_after(error)
            return
        try:
            self._producer.commit_transaction()
        except TransactionFailed as failure:
            if failure.abortable:
                self._abort_after(failure)
            raise

    def _abort_after(self, error: BaseException) -> None:
        try:
            self._producer.abort_transaction()
        except (KafkaError, IllegalState) as problem:
            _note(error, problem)


class AsyncTransactionScope(Generic[A]):
    """As TransactionScope, for a producer on the running loop."""

    def __init__(self, producer: A) -> None:
        self._producer = producer

    async def __aenter__(self) -> A:
        await self._producer.begin_transaction()
        return self._producer

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            await self._abort_after(error)
            return
        try:
            await self._producer.commit_transaction()
        except TransactionFailed as failure:
            if failure.abortable:
                await self._abort_after(failure)
            raise

    async def _abort_after(self, error: BaseException) -> None:
        try:
            await self._producer.abort_transaction()
        except (KafkaError, IllegalState) as problem:
            _note(error, problem)


def _note(error: BaseException, problem: Exception) -> None:
    if problem is not error:
        error.add_note(f"The transaction could not be aborted: {problem}")
