"""What the pretend brokers answer a transactional producer: one strict coordinator, over plain values.

As a coordinator of Apache Kafka 2.8.2 answers, but decides and writes markers at once. A batch of a transaction that
goes to a partition before the coordinator knows of it is a `violation`, which a test compares with none.

Source: KIP-98, KIP-360; docs/reference/groups.md, sections 12 and 13. Shape of the answers as in fake_answers.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.records.batch import read_header
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
    txn_offset_commit,
)

if TYPE_CHECKING:
    from kafka_py.testing.fakes.fake_cluster import FakeCluster

NONE = ErrorCode.NONE
MAX_EPOCH = 32_766


@dataclass
class FakeTransaction:
    """A transactional id as the coordinator knows it. ended: how the last transaction ended; None: none did, or open.

    offsets: those of groups that take effect with a commit, by group.
    """

    producer_id: int
    epoch: int = -1
    last_epoch: int = -1
    is_open: bool = False
    ended: bool | None = None
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    offsets: dict[str, dict[TopicPartition, tuple[int, str]]] = field(default_factory=dict)


@dataclass
class FakeTransactions:
    """All transactional ids of a fake cluster. coordinator: the broker that looks after them.

    outcomes: (transactional id, whether committed) of all that ended. violations: what no producer may do.
    """

    coordinator: int = 0
    known: dict[str, FakeTransaction] = field(default_factory=dict)
    outcomes: list[tuple[str, bool]] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def check_batch(self, partition: TopicPartition, records: Any) -> None:
        """Notes a transactional batch for a partition that its transaction does not have."""
        header = read_header(records)
        if not header.is_transactional or header.is_control:
            return
        for each in self.known.values():
            if (each.producer_id, each.epoch) == (header.producer_id, header.producer_epoch):
                if not each.is_open or partition not in each.partitions:
                    self.violations.append(f"{partition}: a batch outside of a transaction")
                return

    def end(self, cluster: FakeCluster, name: str, *, committed: bool) -> None:
        """Ends the open transaction of an id: markers in its partitions, offsets of groups with a commit."""
        each = self.known[name]
        kind = ControlType.COMMIT if committed else ControlType.ABORT
        for partition in each.partitions:
            log = cluster.partitions[partition]
            marker = end_txn_marker(
                kind, producer_id=each.producer_id, producer_epoch=each.epoch, coordinator_epoch=0, timestamp=0
            )
            log.end_transaction(marker, each.producer_id, committed=committed)
        for group, offsets in each.offsets.items() if committed else ():
            cluster.groups[group].offsets |= offsets
        each.is_open, each.ended = False, committed
        each.partitions, each.groups, each.offsets = {}, {}, {}
        self.outcomes.append((name, committed))
        cluster.note_append()

    def fence(self, cluster: FakeCluster, name: str) -> None:
        """As a time-out: the next epoch, and an abort of what is open."""
        each = self.known[name]
        each.epoch += 1
        if each.is_open:
            self.end(cluster, name, committed=False)


def answer_init(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    """InitProducerId with a transactional id."""
    transactions = cluster.transactions
    code = error or _coordinates(cluster, node_id)
    name = request.transactional_id
    each = transactions.known.get(name)
    expected = (request.producer_id, request.producer_epoch) if request.producer_id >= 0 else None
    if code is NONE and each is None:
        each = transactions.known[name] = FakeTransaction(cluster.next_producer_id())
    if each is None or code is not NONE:
        return _initialized(code or ErrorCode.UNKNOWN_SERVER_ERROR)
    if expected is not None and each.epoch >= 0:
        if expected[0] != each.producer_id or expected[1] not in (each.epoch, each.last_epoch):
            return _initialized(ErrorCode.PRODUCER_FENCED)
        if expected[1] == each.last_epoch:
            return _initialized(NONE, each)
    if each.is_open:
        transactions.fence(cluster, name)
        return _initialized(ErrorCode.CONCURRENT_TRANSACTIONS)
    if each.epoch >= MAX_EPOCH:
        each.producer_id, each.last_epoch, each.epoch = cluster.next_producer_id(), -1, 0
    else:
        each.last_epoch, each.epoch = -1 if expected is None else each.epoch, each.epoch + 1
    each.ended = None
    return _initialized(NONE, each)


def _initialized(code: ErrorCode, each: FakeTransaction | None = None) -> Any:
    return init_producer_id.InitProducerIdResponse(
        throttle_time_ms=0,
        error_code=code,
        producer_id=-1 if each is None else each.producer_id,
        producer_epoch=-1 if each is None else each.epoch,
    )


def _coordinates(cluster: FakeCluster, node_id: int) -> ErrorCode:
    return NONE if node_id == cluster.transactions.coordinator else ErrorCode.NOT_COORDINATOR


def _checked(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> tuple[ErrorCode, FakeTransaction]:
    each = cluster.transactions.known.get(request.transactional_id)
    code = error or _coordinates(cluster, node_id)
    if each is None or each.producer_id != request.producer_id:
        return code or ErrorCode.INVALID_PRODUCER_ID_MAPPING, FakeTransaction(-1)
    if each.epoch != request.producer_epoch:
        code = code or ErrorCode.PRODUCER_FENCED
    return code, each


def answer_add_partitions(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    code, each = _checked(cluster, node_id, request, error)
    asked = [TopicPartition(topic.name, number) for topic in request.topics for number in topic.partitions]
    codes = dict.fromkeys(asked, code)
    if code is NONE and any(partition not in cluster.partitions for partition in asked):
        codes = {
            partition: ErrorCode.OPERATION_NOT_ATTEMPTED if partition in cluster.partitions
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for partition in asked
        }  # fmt: skip
    elif code is NONE:
        each.is_open = True
        each.partitions |= dict.fromkeys(asked)
    rows: dict[str, list[Any]] = {}
    for (topic, number), own in codes.items():
        row = add_partitions_to_txn.AddPartitionsToTxnPartitionResult(partition_index=number, error_code=own)
        rows.setdefault(topic, []).append(row)
    return add_partitions_to_txn.AddPartitionsToTxnResponse(
        throttle_time_ms=0,
        results=[
            add_partitions_to_txn.AddPartitionsToTxnTopicResult(name=topic, results=row) for topic, row in rows.items()
        ],
    )


def answer_add_offsets(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    code, each = _checked(cluster, node_id, request, error)
    if code is NONE:
        each.is_open = True
        each.groups[request.group_id] = None
    return add_offsets_to_txn.AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code)


def answer_txn_offset_commit(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    transactions = cluster.transactions
    code, group = cluster.group_for(request.group_id, node_id, error)
    each = transactions.known.get(request.transactional_id)
    if code is NONE and group.members and request.member_id not in {member.member_id for member in group.members}:
        code = ErrorCode.UNKNOWN_MEMBER_ID
    if code is NONE and each is not None and each.epoch == request.producer_epoch:
        if request.group_id not in each.groups:
            transactions.violations.append(f"offsets of {request.group_id} outside of a transaction")
        pending = each.offsets.setdefault(request.group_id, {})
        for topic in request.topics:
            for row in topic.partitions:
                partition = TopicPartition(topic.name, row.partition_index)
                pending[partition] = (row.committed_offset, row.committed_metadata or "")
    topics = [
        txn_offset_commit.TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                txn_offset_commit.TxnOffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code)
                for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return txn_offset_commit.TxnOffsetCommitResponse(throttle_time_ms=0, topics=topics)


def answer_end(cluster: FakeCluster, node_id: int, request: Any, error: ErrorCode) -> Any:
    code, each = _checked(cluster, node_id, request, error)
    if code is NONE:
        if each.is_open:
            cluster.transactions.end(cluster, request.transactional_id, committed=request.committed)
        elif each.ended is not request.committed:
            code = ErrorCode.INVALID_TXN_STATE
    return end_txn.EndTxnResponse(throttle_time_ms=0, error_code=code)


TRANSACTION_ANSWERS: dict[ApiKey, Callable[[FakeCluster, int, Any, ErrorCode], Any]] = {
    ApiKey.ADD_PARTITIONS_TO_TXN: answer_add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: answer_add_offsets,
    ApiKey.TXN_OFFSET_COMMIT: answer_txn_offset_commit,
    ApiKey.END_TXN: answer_end,
}
