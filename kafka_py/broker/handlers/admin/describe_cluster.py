"""DescribeCluster: brokers, controller and cluster id (KIP-700)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.security.acls.authorization import authorized_operations
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)


def handle(node: Node, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """The live brokers that have the client's listener."""
    brokers = []
    for broker in node.metadata.brokers.values():
        address = broker.addresses.get(context.listener_name)
        if address is not None:
            brokers.append(
                DescribeClusterBroker(broker_id=broker.id, host=address.host, port=address.port, rack=broker.rack)
            )
    response = DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message=None,
        cluster_id=node.cluster_id,
        controller_id=-1 if node.metadata.controller_id is None else node.metadata.controller_id,
        brokers=brokers,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = 0
        if node.authorizer.allows(context, Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
            response.cluster_authorized_operations = authorized_operations(
                node.authorizer, context, ResourceType.CLUSTER, CLUSTER_NAME
            )
    return response
