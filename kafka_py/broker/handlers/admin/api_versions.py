"""ApiVersions: the APIs and versions of this broker; exactly those of 2.8, because clients infer features from them."""

from __future__ import annotations

from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.offered_apis import offered
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


def handle(node: Node, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Every API with its versions; from v3 on, the client's name and version must be valid."""
    return offered(request, context.api_version, context.connection)
