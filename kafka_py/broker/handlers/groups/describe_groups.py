"""DescribeGroups: state, protocol and members of groups. Source: docs/reference/groups.md, section 8; KIP-430."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.requests.group_requests import check_group
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.authorization import authorized_operations
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


async def handle(node: Node, context: RequestContext, request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """One result per group; an unknown group is "Dead"."""
    turn = Turn(node.clock)
    groups = []
    for group_id in request.groups:
        try:
            described = _describe(node, context, group_id)
        except KafkaError as error:
            context.metrics.count_error(error.code.name)
            described = DescribedGroup(
                error_code=error.code, group_id=group_id, group_state="", protocol_type="", protocol_data="", members=[]
            )
        else:
            if request.include_authorized_operations:
                described.authorized_operations = authorized_operations(
                    node.authorizer, context, ResourceType.GROUP, group_id
                )
        groups.append(described)
        await turn.maybe_yield()
    return DescribeGroupsResponse(groups=groups)


def _describe(node: Node, context: RequestContext, group_id: str) -> DescribedGroup:
    """The description of one group. Raises KafkaError."""
    check_group(node, context, Operation.DESCRIBE, group_id)
    found = node.coordinators.membership.describe(group_id)
    return DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=found.state,
        protocol_type=found.protocol_type,
        protocol_data=found.protocol,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata,
                member_assignment=member.assignment,
            )
            for member in found.members
        ],
    )
