"""ApiVersions: what this broker speaks. Clients infer features from the set, so it is exactly that of 2.8."""

from __future__ import annotations

import re

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.node import Node
from kafka_py.broker.requests import RequestContext
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What KIP-511 allows as a client's name or version."""


def handle(node: Node, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Every API with its versions; from v3 on the client must give its name and version in proper form."""
    if context.api_version >= 3 and not (
        _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=[])
    if context.api_version >= 3:
        context.connection.describe_client(request.client_software_name, request.client_software_version)
    return ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=[_row(key) for key in APIS])


def unsupported_version() -> ApiVersionsResponse:
    """The answer, in v0, to a version of ApiVersions that this broker lacks: it names the ones it has (KIP-511)."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[_row(ApiKey.API_VERSIONS)])


def _row(key: ApiKey) -> ApiVersion:
    api = APIS[key]
    return ApiVersion(api_key=int(key), min_version=api.min_version, max_version=api.max_version)
