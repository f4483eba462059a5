"""The requests of a transactional producer as values, and the errors in their responses.

Source: KIP-98, KIP-360 (an epoch bump names the id and epoch it follows), KIP-447 (offsets in a member's name).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.assignors.assignor import UNKNOWN_MEMBER, GroupMetadata
from kafka_py.clients.errors import error_code
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.clients.producer.idempotence import ProducerIdentity
from kafka_py.clients.producer.transactions.treatments import RequestKind
from kafka_py.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_py.wire.messages.end_txn import EndTxnRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest
from kafka_py.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

NO_GROUP = GroupMetadata("")


@dataclass(slots=True, eq=False)
class TransactionalRequestResult:
    """A call of the application that waits for a coordinator, by its method's name; done once it succeeded or failed.

    error: why it failed, None for success.
    """

    name: str
    done: bool = False
    error: KafkaError | None = None

    def finish(self, error: KafkaError | None = None) -> None:
        """Notes how it ended; the first end counts."""
        if not self.done:
            self.done, self.error = True, error


@dataclass(slots=True, eq=False)
class OffsetsCommit(TransactionalRequestResult):
    """Offsets that are to be committed with the transaction.

    added: whether the coordinator knows that the transaction has offsets of the group. left: what is not stored yet.
    """

    offsets: Mapping[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)
    group: GroupMetadata = NO_GROUP
    added: bool = False
    left: dict[TopicPartition, OffsetAndMetadata] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = dict(self.offsets)


@dataclass(frozen=True, slots=True)
class CoordinatorRequest:
    """A request for a coordinator.

    partitions: that it adds. commit: the offsets that it is about, which their group's coordinator stores.
    """

    kind: RequestKind
    message: Any
    partitions: tuple[TopicPartition, ...] = ()
    commit: OffsetsCommit | None = None

    @property
    def is_for_group(self) -> bool:
        """Whether it goes to the group's coordinator, not to that of the transaction."""
        return self.kind is RequestKind.COMMIT_OFFSETS

    @property
    def search(self) -> RequestKind:
        """The request that finds the coordinator."""
        if self.is_for_group:
            return RequestKind.FIND_GROUP_COORDINATOR
        return RequestKind.FIND_TRANSACTION_COORDINATOR


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partition numbers by topic."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics


def init_producer_id(
    transactional_id: str, timeout_ms: int, identity: ProducerIdentity, *, renews: bool = False
) -> CoordinatorRequest:
    """Asks for the id and epoch. renews: for the epoch after the present one, so that a repeat gives the same."""
    message = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)
    if renews:
        message.producer_id, message.producer_epoch = identity.producer_id, identity.epoch
    return CoordinatorRequest(RequestKind.INIT_PRODUCER_ID, message)


def add_partitions(
    transactional_id: str, identity: ProducerIdentity, partitions: Sequence[TopicPartition]
) -> CoordinatorRequest:
    """Adds partitions before the first batch goes to them."""
    message = AddPartitionsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        topics=[AddPartitionsToTxnTopic(name=name, partitions=each) for name, each in by_topic(partitions).items()],
    )
    return CoordinatorRequest(RequestKind.ADD_PARTITIONS, message, tuple(partitions))


def add_offsets(transactional_id: str, identity: ProducerIdentity, commit: OffsetsCommit) -> CoordinatorRequest:
    """Adds the group's partition of the offsets topic."""
    message = AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        group_id=commit.group.group_id,
    )
    return CoordinatorRequest(RequestKind.ADD_OFFSETS, message, commit=commit)


def commit_offsets(transactional_id: str, identity: ProducerIdentity, commit: OffsetsCommit) -> CoordinatorRequest:
    """Hands the offsets to the group's coordinator, which applies them when the transaction commits."""
    topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
    for (topic, number), each in commit.left.items():
        row = TxnOffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=each.offset,
            committed_leader_epoch=each.leader_epoch,
            committed_metadata=each.metadata,
        )
        topics.setdefault(topic, []).append(row)
    group = commit.group
    message = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        generation_id=group.generation_id,
        member_id=group.member_id,
        group_instance_id=group.group_instance_id,
        topics=[TxnOffsetCommitRequestTopic(name=name, partitions=rows) for name, rows in topics.items()],
    )
    return CoordinatorRequest(RequestKind.COMMIT_OFFSETS, message, commit=commit)


def end(transactional_id: str, identity: ProducerIdentity, *, committed: bool) -> CoordinatorRequest:
    """Commits or aborts."""
    message = EndTxnRequest(
        transactional_id=transactional_id,
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        committed=committed,
    )
    return CoordinatorRequest(RequestKind.END, message)


def needs_members(commit: OffsetsCommit | None) -> bool:
    """Whether the offsets name a member of the group, which brokers check from TxnOffsetCommit version 3 on."""
    group = NO_GROUP if commit is None else commit.group
    return group.generation_id >= 0 or group.member_id != UNKNOWN_MEMBER or group.group_instance_id is not None


def explanation(request: CoordinatorRequest, code: ErrorCode) -> str:
    """What an error in a response means here, with the setting that causes it."""
    if request.kind is RequestKind.INIT_PRODUCER_ID and code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        asked = f"transaction.timeout.ms, {request.message.transaction_timeout_ms} ms,"
        return f"{asked} is not above 0 or exceeds the broker's transaction.max.timeout.ms"
    if code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return f"the principal may not write under transactional.id {request.message.transactional_id!r}"
    return code.meaning


def errors_in(request: CoordinatorRequest, response: Any) -> list[tuple[TopicPartition | None, ErrorCode]]:
    """The error codes in a response, NONE too, each with its partition where it has one."""
    if request.kind is RequestKind.ADD_PARTITIONS:
        return [
            (TopicPartition(topic.name, each.partition_index), error_code(each.error_code))
            for topic in response.results
            for each in topic.results
        ]
    if request.kind is RequestKind.COMMIT_OFFSETS:
        return [
            (TopicPartition(topic.name, each.partition_index), error_code(each.error_code))
            for topic in response.topics
            for each in topic.partitions
        ]
    return [(None, error_code(response.error_code))]
