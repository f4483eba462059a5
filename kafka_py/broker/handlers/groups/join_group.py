"""JoinGroup: a member joins its group; the response is sent when the join phase of the rebalance ends.

Source: docs/reference/groups.md, section 3; KIP-345, KIP-394.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.group_requests import java_address, knows_static_members
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.coordinator.groups.requests import NO_MEMBER_ID, JoinRequest, JoinResult, refused_join
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from kafka_py.wire.version_meanings import JOIN_GROUP


def handle(node: Node, context: RequestContext, request: JoinGroupRequest) -> object:
    """Responds at once to rejected requests, and to members that cause no rebalance."""
    meaning = JOIN_GROUP[context.api_version]
    if request.group_instance_id is not None and not knows_static_members(node):
        return _response(context, refused_join(NO_MEMBER_ID, ErrorCode.UNSUPPORTED_VERSION))
    if not node.authorizer.allows(context, Operation.READ, ResourceType.GROUP, request.group_id):
        return _response(context, refused_join(NO_MEMBER_ID, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    rebalance_timeout_ms = request.rebalance_timeout_ms if meaning.has_rebalance_timeout else request.session_timeout_ms
    node.coordinators.membership.join(
        JoinRequest(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            needs_known_id=meaning.needs_known_id,
            client_id=context.client_id or "",
            client_host=java_address(context.host),
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
        ),
        lambda result: context.answer(_response(context, result)),
    )
    return ANSWERS_LATER


def _response(context: RequestContext, result: JoinResult) -> JoinGroupResponse:
    if result.error is not ErrorCode.NONE:
        context.metrics.count_error(result.error.name)
    meaning = JOIN_GROUP[context.api_version]
    return JoinGroupResponse(
        error_code=result.error,
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=meaning.no_protocol if result.protocol is None else result.protocol,
        leader=result.leader,
        member_id=result.member_id,
        members=[
            JoinGroupResponseMember(
                member_id=member_id,
                group_instance_id=instance_id if meaning.lists_instances else None,
                metadata=metadata,
            )
            for member_id, instance_id, metadata in result.members
        ],
    )
