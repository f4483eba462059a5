"""ApiVersions: the APIs and versions of this broker; exactly those of 2.8, because clients infer features from them."""

from __future__ import annotations

import re

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.offered_apis import api_row
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.apis import APIS
from kafka_py.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.version_meanings import API_VERSIONS_NAMES_CLIENT

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""The characters that KIP-511 allows in a client's name or version."""


def handle(node: Node, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Every API with its versions; from v3 on, the client's name and version must be valid."""
    if API_VERSIONS_NAMES_CLIENT[context.api_version]:
        if not (
            _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
        ):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=[])
        context.connection.describe_client(request.client_software_name, request.client_software_version)
    return ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=[api_row(key) for key in APIS])
