"""Heartbeat: a group member is alive. The most frequent request of a group, so this path is short.

Source: docs/reference/groups.md, section 5.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.group_requests import check_group, check_static_members
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.security.acls.vocabulary import Operation
from kafka_py.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(node: Node, context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """NONE, or an error after which the member rejoins or stops."""
    if request.group_instance_id is not None:
        check_static_members(node, request.group_instance_id)
    if node.authorizer is not ALLOW_ALL:
        check_group(node, context, Operation.READ, request.group_id)
    code = node.coordinators.membership.heartbeat(
        request.group_id, request.member_id, request.generation_id, request.group_instance_id
    )
    if code is not ErrorCode.NONE:
        context.metrics.count_error(code.name)
    return HeartbeatResponse(error_code=code)
