"""The APIs and versions of this broker, as in ApiVersions responses. Source: KIP-35, KIP-511."""

from __future__ import annotations

import re

from kafka_py.base.errors import ErrorCode
from kafka_py.broker.requests.request_context import ClientConnection
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_py.wire.version_meanings import API_VERSIONS_NAMES_CLIENT

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""The characters that KIP-511 allows in a client's name or version."""


def api_row(key: ApiKey) -> ApiVersion:
    """One API with its supported versions."""
    api = APIS[key]
    return ApiVersion(api_key=int(key), min_version=api.min_version, max_version=api.max_version)


def offered(request: ApiVersionsRequest, version: int, connection: ClientConnection) -> ApiVersionsResponse:
    """Every API with its versions; from v3 on, the client's name and version must be valid."""
    if API_VERSIONS_NAMES_CLIENT[version]:
        if not (
            _SOFTWARE.fullmatch(request.client_software_name) and _SOFTWARE.fullmatch(request.client_software_version)
        ):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=[])
        connection.describe_client(request.client_software_name, request.client_software_version)
    return ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=[api_row(key) for key in APIS])


def unsupported_version() -> ApiVersionsResponse:
    """The v0 response to an unsupported version of ApiVersions, with the supported ones (KIP-511)."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[api_row(ApiKey.API_VERSIONS)])
