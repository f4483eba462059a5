"""Checks shared by requests about groups: authorization, and the cluster's inter-broker protocol.

Source: docs/reference/groups.md, section 3; docs/reference/apis.tsv.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, ip_address

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
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


@lru_cache(maxsize=1024)
def java_address(host: str) -> str:
    """An address in Java's form without a host name, `/10.0.0.1` or `/0:0:0:0:0:0:0:1`, as in group records."""
    try:
        address = ip_address(host)
    except ValueError:
        return f"/{host}"
    if isinstance(address, IPv4Address):
        return f"/{address}"
    if address.ipv4_mapped is not None:
        return f"/{address.ipv4_mapped}"
    number = int(address)
    groups = ":".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
    return f"/{groups}" if address.scope_id is None else f"/{groups}%{address.scope_id}"
