"""LeaveGroup: removes members of a group; before v3 one per request, whose error is that of the whole response.

Source: docs/reference/groups.md, section 5; KIP-345.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.group_requests import check_group
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER, RequestContext
from kafka_py.coordinator.groups.requests import Leaver
from kafka_py.security.acls.vocabulary import Operation
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from kafka_py.wire.version_meanings import LEAVE_GROUP_IN_BULK


def handle(node: Node, context: RequestContext, request: LeaveGroupRequest) -> object:
    """One error per member; KafkaError for errors of the group.

    The response to the last member is sent after the empty group is written, so that the group can be deleted then.
    """
    response = _leave(node, context, request)
    if node.coordinators.membership.once_written(request.group_id, lambda: context.answer(response)):
        return ANSWERS_LATER
    return response


def _leave(node: Node, context: RequestContext, request: LeaveGroupRequest) -> LeaveGroupResponse:
    check_group(node, context, Operation.READ, request.group_id)
    membership = node.coordinators.membership
    if not LEAVE_GROUP_IN_BULK[context.api_version]:
        (code,) = membership.leave(request.group_id, [Leaver(request.member_id)])
        _count(context, code)
        return LeaveGroupResponse(error_code=code)
    leavers = [Leaver(member.member_id, member.group_instance_id) for member in request.members]
    members = []
    for (member_id, instance_id), code in zip(leavers, membership.leave(request.group_id, leavers), strict=True):
        _count(context, code)
        members.append(MemberResponse(member_id=member_id, group_instance_id=instance_id, error_code=code))
    return LeaveGroupResponse(error_code=ErrorCode.NONE, members=members)


def _count(context: RequestContext, code: ErrorCode) -> None:
    if code is not ErrorCode.NONE:
        context.metrics.count_error(code.name)
