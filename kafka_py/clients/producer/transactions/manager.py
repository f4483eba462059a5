"""A transactional producer as a state machine: which calls are allowed, which request is due, what responses mean.

The calls of the application return a TransactionalRequestResult, which is done once it has succeeded or failed.
`advance` returns the request that is due; its response goes to `take_response`, a failure to get one to `take_failure`.
One request is in flight at a time. Batches are the sender's, which calls `may_send` for their partitions.

Pure: sends nothing and waits for nothing; driver.py does.
Source: KIP-98, KIP-360, KIP-447, KIP-588; TransactionManager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import GroupMetadata
from kafka_py.clients.errors import IllegalState, ProducerFenced, TransactionAborted, TransactionFailed
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.clients.producer.idempotence import ProducerIdentity
from kafka_py.clients.producer.transactions.coordinator_requests import (
    CoordinatorRequest,
    OffsetsCommit,
    TransactionalRequestResult,
    add_offsets,
    add_partitions,
    commit_offsets,
    end,
    errors_in,
    explanation,
    init_producer_id,
)
from kafka_py.clients.producer.transactions.states import (
    ABORTABLE_ERROR,
    ABORTING,
    COMMITTING,
    FATAL_ERROR,
    IN_TRANSACTION,
    INITIALIZING,
    MOVES,
    READY,
    UNINITIALIZED,
    ProducerTransactionState,
)
from kafka_py.clients.producer.transactions.treatments import (
    DONE,
    FATAL,
    FENCED,
    FIND_COORDINATOR,
    RENEW,
    RETRY,
    Reaction,
    RequestKind,
    Treatment,
    batch_treatment,
    strongest,
    treatment,
)

INIT, RESUME, BEGIN, COMMIT, ABORT, SEND_OFFSETS = (
    "init_transactions", "resume_transactions", "begin_transaction", "commit_transaction", "abort_transaction",
    "send_offsets_to_transaction",
)  # fmt: skip


class ProducerTransactions:
    """The transactions of one producer, one after the other.

    identity: takes the producer id and epochs. on_change: called when `advance` may return another request.
    """

    def __init__(
        self, transactional_id: str, timeout_ms: int, identity: ProducerIdentity, on_change: Callable[[], object]
    ) -> None:
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.state = UNINITIALIZED
        self.is_prepared = False
        """Whether the transaction is prepared: its records are final, and further records are refused."""
        self.can_renew = True
        """Whether the coordinator gives a producer the next epoch (KIP-360); brokers before 2.5 do not."""
        self._identity = identity
        self._on_change = on_change
        self.operation: TransactionalRequestResult | None = None
        """The call of the application that is not over, or whose outcome it has not seen."""
        self._cause: KafkaError | None = None
        self._wanted: dict[TopicPartition, None] = {}
        self._partitions: dict[TopicPartition, None] = {}
        self._commits: list[OffsetsCommit] = []
        self._started = False  # the coordinator has the transaction
        self._uncertain = False  # it may have it: there was no response to a request that begins it
        self._renews = False  # the next transaction needs another epoch
        self._forgotten = False  # the coordinator no longer knows the producer id, and with it the transaction

    # Calls of the application

    def initialize(self) -> TransactionalRequestResult:
        """Fences older producers and ends their transaction. Raises IllegalState, TransactionFailed."""
        if (again := self._repeated(INIT)) is not None:
            return again
        self._refuse_failed(INIT)
        if self.state is not UNINITIALIZED:
            raise IllegalState("init_transactions was called before; once is enough")
        self._become(INITIALIZING)
        return self._begin_operation(INIT)

    def resume(self, producer_id: int, epoch: int) -> None:
        """In place of `initialize`: under a producer id and epoch that the coordinator gave to somebody else.

        What would need another epoch is fatal then: to raise it is not up to this producer. Raises IllegalState.
        """
        self._refuse_failed(RESUME)
        if self.state is not UNINITIALIZED:
            raise IllegalState("resume_transactions comes in place of init_transactions, once and before all else")
        self._become(INITIALIZING)
        self._identity.assume(producer_id, epoch)
        self.can_renew = False
        self._become(READY)

    def begin(self) -> None:
        """Opens a transaction; brokers learn of it with its first partition. Raises IllegalState, TransactionFailed."""
        self._repeated(BEGIN)
        self._refuse_failed(BEGIN)
        if self.state is IN_TRANSACTION:
            raise IllegalState("a transaction is open: commit or abort it before begin_transaction")
        if self.state is not READY:
            raise IllegalState("begin_transaction needs init_transactions first")
        self._become(IN_TRANSACTION)

    def commit(self) -> TransactionalRequestResult:
        """Ends the transaction with all of its records and offsets. Raises IllegalState, TransactionFailed."""
        if (again := self._repeated(COMMIT)) is not None:
            return again
        self._refuse_failed(COMMIT)
        self._need_transaction(COMMIT)
        self._become(COMMITTING)
        return self._begin_operation(COMMIT)

    def abort(self) -> TransactionalRequestResult:
        """Ends the transaction with nothing of it. Raises IllegalState, TransactionFailed after a fatal error."""
        if (again := self._repeated(ABORT)) is not None:
            return again
        if self.state is not ABORTABLE_ERROR:
            self._refuse_failed(ABORT)
            self._need_transaction(ABORT)
        self._become(ABORTING)
        self._wanted.clear()
        self._end_commits(TransactionAborted())
        self._renews = self._renews or (self._uncertain and self.can_renew)
        return self._begin_operation(ABORT)

    def send_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: GroupMetadata) -> OffsetsCommit:
        """Commits a group's offsets with the transaction. Raises IllegalState, TransactionFailed."""
        self._repeated(SEND_OFFSETS)
        self._refuse_failed(SEND_OFFSETS)
        self._need_transaction(SEND_OFFSETS)
        for commit in self._commits:
            if (commit.offsets, commit.group) == (offsets, group):
                return commit
        commit = OffsetsCommit(SEND_OFFSETS, offsets=dict(offsets), group=group)
        if offsets:
            self._commits.append(commit)
            self._on_change()
        else:
            commit.finish()
        return commit

    def claim(self, operation: TransactionalRequestResult) -> None:
        """The application has learnt how the operation ended."""
        if operation is self.operation:
            self.operation = None

    def check_sending(self) -> None:
        """Raises IllegalState or TransactionFailed when records cannot be sent now. May be called by any thread."""
        if self.state is IN_TRANSACTION and not self.is_prepared:
            return
        self._refuse_failed("send")
        if self.is_prepared:
            raise IllegalState("the transaction is prepared: the producer accepts no further records")
        first = "init_transactions and begin_transaction" if self.state is UNINITIALIZED else "begin_transaction"
        raise IllegalState(f"the producer is {self.state.value}, not in a transaction: send needs {first} first")

    def _repeated(self, name: str) -> TransactionalRequestResult | None:
        """The pending operation when `name` is called again. Raises IllegalState while that of another call is."""
        operation = self.operation
        if operation is None or operation.name == name:
            return operation
        if operation.error is not None:
            self.operation = None
            return None
        raise IllegalState(f"{operation.name} is not over: call it again, to learn how it ended, before {name}")

    def _refuse_failed(self, name: str) -> None:
        if self.state in (ABORTABLE_ERROR, FATAL_ERROR):
            raise self.failure(f"{name} is not possible: ")

    def _need_transaction(self, name: str) -> None:
        if self.state is not IN_TRANSACTION:
            raise IllegalState(f"{name} needs begin_transaction first: the producer is {self.state.value}")

    def _begin_operation(self, name: str) -> TransactionalRequestResult:
        operation = self.operation = TransactionalRequestResult(name)
        self._on_change()
        return operation

    # Calls of the sender

    def may_send(self, partition: TopicPartition) -> bool:
        """Whether batches may go to a partition; if not, it is added to the transaction where that is possible."""
        if partition in self._partitions:
            return True
        if self.state in (IN_TRANSACTION, COMMITTING) and partition not in self._wanted:
            self._wanted[partition] = None
            self._on_change()
        return False

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open that may still succeed."""
        return self.state in (IN_TRANSACTION, COMMITTING)

    @property
    def is_abortable(self) -> bool:
        """Whether a transaction is open that nobody has ended yet."""
        return self.state in (IN_TRANSACTION, ABORTABLE_ERROR)

    @property
    def is_ending(self) -> bool:
        """Whether batches are waited for, so that the transaction can be committed or aborted."""
        return self.state in (COMMITTING, ABORTING)

    @property
    def drops_batches(self) -> KafkaError | None:
        """The error for batches that were not sent, and shall not be; None while they shall."""
        return TransactionAborted(self._cause) if self.state in (ABORTABLE_ERROR, ABORTING) else None

    def batch_failed(self, error: KafkaError, *, has_gap: bool) -> None:
        """A batch was not delivered. has_gap: it had a sequence, and those that follow would not be taken."""
        if self.state not in (IN_TRANSACTION, COMMITTING, ABORTABLE_ERROR, ABORTING):
            return
        how = batch_treatment(error.code)
        if how is Treatment.ABORT and has_gap:
            how = RENEW
        self._fail(error, how)

    # Calls of the driver

    def advance(self, *, flushed: bool) -> CoordinatorRequest | None:
        """The request that is due now; None while there is none. flushed: all batches are delivered or have failed."""
        state, identity, name = self.state, self._identity, self.transactional_id
        if state is INITIALIZING:
            return init_producer_id(name, self.timeout_ms, identity, renews=identity.is_known)
        if state in (IN_TRANSACTION, COMMITTING):
            if self._wanted:
                return add_partitions(name, identity, tuple(self._wanted))
            if self._commits:
                commit = self._commits[0]
                return (commit_offsets if commit.added else add_offsets)(name, identity, commit)
        if not flushed or state not in (COMMITTING, ABORTING):
            return None
        if (self._started or self._uncertain) and not self._forgotten:
            return end(name, identity, committed=state is COMMITTING)
        self._complete()
        return self.advance(flushed=flushed)

    def take_response(self, request: CoordinatorRequest, response: Any) -> Reaction:
        """Handles the response of a coordinator."""
        kind, codes = request.kind, errors_in(request, response)
        if request.commit is not None and kind is RequestKind.COMMIT_OFFSETS:
            for partition, code in codes:
                if partition is not None and code is ErrorCode.NONE:
                    request.commit.left.pop(partition, None)
        failed = [(partition, code) for partition, code in codes if code is not ErrorCode.NONE]
        if not failed:
            if self.state is not FATAL_ERROR:
                self._succeeded(request, response)
            return DONE
        how = strongest(treatment(kind, code) for _, code in failed)
        known = [code for _, code in failed if treatment(kind, code) is how]
        code = min(known, key=lambda each: each is ErrorCode.OPERATION_NOT_ATTEMPTED)
        named = ", ".join(f"{partition} {code.name}" for partition, code in failed if partition is not None)
        return self._take_error(request, KafkaError(code, f"{kind.value}: {named or explanation(request, code)}"), how)

    def take_failure(self, request: CoordinatorRequest, error: KafkaError, *, finding: bool = False) -> Reaction:
        """Handles a failure to get a response. finding: the coordinator was not found."""
        kind = request.kind
        if not finding and error.code is ErrorCode.NETWORK_EXCEPTION:
            self._uncertain |= kind in (RequestKind.ADD_PARTITIONS, RequestKind.ADD_OFFSETS)
        if finding:
            kind = request.search
        known = KafkaError(error.code, f"{kind.value}: {error.message}")
        return self._take_error(request, known, treatment(kind, error.code))

    def fail(self, error: KafkaError) -> None:
        """An unforeseen failure, after which nothing is certain."""
        self._fail(error, FATAL)

    def failure(self, before: str = "") -> TransactionFailed:
        """The present error for the application."""
        identity = self._identity
        cause = self._cause or KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if isinstance(cause, ProducerFenced):
            error: TransactionFailed = ProducerFenced(
                self.transactional_id, identity.producer_id, identity.epoch, self.timeout_ms
            )
        else:
            abortable = self.state is not FATAL_ERROR
            advice = "abort it" if abortable else "close the producer"
            error = TransactionFailed(
                cause.code,
                f"{before}the transaction of transactional.id {self.transactional_id!r} has failed, {advice}: "
                f"{cause.message}",
                abortable=abortable,
            )
            error.__cause__ = cause
        return error

    # What follows

    def _become(self, state: ProducerTransactionState) -> None:
        self.state = MOVES.after(self.state, state)

    def _succeeded(self, request: CoordinatorRequest, response: Any) -> None:
        kind, commit = request.kind, request.commit
        if kind is RequestKind.INIT_PRODUCER_ID:
            self._identity.assume(response.producer_id, response.producer_epoch)
            self._renews = False
            self._become(READY)
            self._finish()
        elif kind is RequestKind.END:
            self._complete()
        elif kind is RequestKind.COMMIT_OFFSETS:
            assert commit is not None
            self._commits = [each for each in self._commits if each is not commit]
            commit.finish()
        else:
            self._started, self._uncertain = True, False
            for partition in request.partitions:
                self._wanted.pop(partition, None)
                self._partitions[partition] = None
            if commit is not None:
                commit.added = True

    def _take_error(self, request: CoordinatorRequest, error: KafkaError, how: Treatment) -> Reaction:
        kind = request.kind
        if how in (RETRY, FIND_COORDINATOR):
            first = kind is RequestKind.ADD_PARTITIONS and not self._partitions
            soon = first and error.code is ErrorCode.CONCURRENT_TRANSACTIONS
            return Reaction(pauses=True, soon=soon, forgets=how is FIND_COORDINATOR)
        if kind is RequestKind.END and self.state is ABORTING:
            if self._uncertain and error.code is ErrorCode.INVALID_TXN_STATE:  # it had not begun
                self._complete()
                return DONE
            self._forgotten |= how is RENEW
        for partition in request.partitions:
            self._wanted.pop(partition, None)
        self._fail(error, how)
        return DONE

    def _fail(self, error: KafkaError, how: Treatment) -> None:
        if self.state is FATAL_ERROR:
            return
        if how is RENEW:
            self._renews = self.can_renew
            self._forgotten |= error.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if how is FENCED:
            error = ProducerFenced(
                self.transactional_id, self._identity.producer_id, self._identity.epoch, self.timeout_ms
            )
        if how in (FATAL, FENCED) or (how is RENEW and not self.can_renew):
            self._cause = error
            self._become(FATAL_ERROR)
        elif self.is_open:
            self._cause = error
            self._become(ABORTABLE_ERROR)
        else:
            return
        self._wanted.clear()
        self._end_commits(self.failure())
        self._finish(self.failure())
        self._on_change()

    def _complete(self) -> None:
        """The transaction is over; READY, once the next epoch is there if it must be another."""
        self._partitions.clear()
        self._started = self._uncertain = self._forgotten = False
        self._cause = None
        self._become(INITIALIZING if self._renews else READY)
        if self.state is READY:
            self._finish()

    def _finish(self, error: KafkaError | None = None) -> None:
        if self.operation is not None:
            self.operation.finish(error)

    def _end_commits(self, error: KafkaError) -> None:
        commits, self._commits = self._commits, []
        for commit in commits:
            commit.finish(error)
