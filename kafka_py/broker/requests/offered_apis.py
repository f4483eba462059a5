"""The APIs and versions of this broker, as in ApiVersions responses. Source: KIP-35, KIP-511."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.api_versions import ApiVersion, ApiVersionsResponse


def api_row(key: ApiKey) -> ApiVersion:
    """One API with its supported versions."""
    api = APIS[key]
    return ApiVersion(api_key=int(key), min_version=api.min_version, max_version=api.max_version)


def unsupported_version() -> ApiVersionsResponse:
    """The v0 response to an unsupported version of ApiVersions, with the supported ones (KIP-511)."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[api_row(ApiKey.API_VERSIONS)])
