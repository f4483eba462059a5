"""Checks shared by requests about groups: authorization, and the cluster's inter-broker protocol.

Source: docs/reference/groups.md, section 3; docs/reference/apis.tsv.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.hosts import java_host
from kafka_py.security.acls.vocabulary import Operation, ResourceType

_FIRST_WITH_STATIC_MEMBERS = "2.3-IV0"


def check_group(node: Node, context: RequestContext, operation: Operation, group_id: str) -> None:
    """Raises KafkaError(GROUP_AUTHORIZATION_FAILED)."""
    if not node.authorizer.allows(context, operation, ResourceType.GROUP, group_id):
        raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED, f"{operation.name} on group {group_id} is not allowed")


def knows_static_members(node: Node) -> bool:
    """Whether all brokers store instance ids (KIP-345); otherwise a static member could become dynamic."""
    return node.config.inter_broker_version().at_least(_FIRST_WITH_STATIC_MEMBERS)


def check_static_members(node: Node, group_instance_id: str | None) -> None:
    """Raises KafkaError(UNSUPPORTED_VERSION) for an instance id if not all brokers store them."""
    if group_instance_id is not None and not knows_static_members(node):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "static members need inter.broker.protocol.version 2.3")


def java_address(host: str) -> str:
    """An address in Java's form without a host name, `/10.0.0.1` or `/0:0:0:0:0:0:0:1`, as in group records."""
    return f"/{java_host(host)}"
