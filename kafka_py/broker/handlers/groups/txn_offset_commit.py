"""TxnOffsetCommit: a producer commits, as part of its transaction, how far a group has read (KIP-98).

The offsets are pending until the transaction's marker is appended to the group's partition of `__consumer_offsets`.
Source: KIP-98; KIP-447; docs/reference/groups.md, section 7; KafkaApis.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.offset_commits import CommitAnswer, OffsetCommits
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.broker.requests.transactions import FIRST_PROTOCOL
from kafka_py.coordinator.groups.offsets import CommittingProducer
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_py.wire.version_meanings import TXN_OFFSET_COMMIT_WHILE_LOADING

_ANSWER = CommitAnswer(TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition)


def handle(node: Node, context: RequestContext, request: TxnOffsetCommitRequest) -> object:
    """Stores what may be stored, and answers for each partition when that is safe. Raises KafkaError for the whole."""
    if not node.config.inter_broker_version().at_least(FIRST_PROTOCOL):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "transactions need inter.broker.protocol.version 0.11.0")
    authorizer, transactional_id = node.authorizer, request.transactional_id
    if not authorizer.allows(context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, f"transactional id {transactional_id}")
    if not authorizer.allows(context, Operation.READ, ResourceType.GROUP, request.group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"group {request.group_id}")
    return OffsetCommits(
        node,
        context,
        request,
        _ANSWER,
        producer=CommittingProducer(request.producer_id, request.producer_epoch),
        while_loading=TXN_OFFSET_COMMIT_WHILE_LOADING[context.api_version],
    ).store()
