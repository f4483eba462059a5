"""SyncGroup: a member gets its assignment; the group leader sends the assignments of all members.

Source: docs/reference/groups.md, section 5; KIP-559.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.group_requests import check_group, check_static_members
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.coordinator.groups.requests import SyncRequest, SyncResult
from kafka_py.security.acls.vocabulary import Operation
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafka_py.wire.version_meanings import SYNC_GROUP_NAMES_PROTOCOL


def handle(node: Node, context: RequestContext, request: SyncGroupRequest) -> object:
    """Responds at once if the assignment is known, else when the leader's assignment is written."""
    check_static_members(node, request.group_instance_id)
    if SYNC_GROUP_NAMES_PROTOCOL[context.api_version] and None in (request.protocol_type, request.protocol_name):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    check_group(node, context, Operation.READ, request.group_id)

    def answer(result: SyncResult) -> None:
        if result.error is not ErrorCode.NONE:
            context.metrics.count_error(result.error.name)
        context.answer(
            SyncGroupResponse(
                error_code=result.error,
                protocol_type=result.protocol_type,
                protocol_name=result.protocol,
                assignment=result.assignment,
            )
        )

    node.coordinators.membership.sync(
        SyncRequest(
            request.group_id,
            request.generation_id,
            request.member_id,
            request.group_instance_id,
            request.protocol_type,
            request.protocol_name,
            {each.member_id: bytes(each.assignment) for each in request.assignments},
        ),
        answer,
    )
    return ANSWERS_LATER
