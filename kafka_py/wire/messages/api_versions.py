"""ApiVersions (18): which APIs and versions a broker speaks."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, Int64, String, request, response, since, struct


@request(api=ApiKey.API_VERSIONS, versions=(0, 3), flexible=3)
class ApiVersionsRequest:
    """Usually the first request on a connection. v3 name and version of the client (KIP-511)."""

    client_software_name: String = since(3, ignorable=True)
    client_software_version: String = since(3, ignorable=True)


@struct
class ApiVersion:
    api_key: Int16
    min_version: Int16
    max_version: Int16


@struct
class SupportedFeatureKey:
    """A feature and the versions that this broker has."""

    name: String
    min_version: Int16
    max_version: Int16


@struct
class FinalizedFeatureKey:
    """A feature and the versions that the whole cluster has agreed on."""

    name: String
    max_version_level: Int16
    min_version_level: Int16


@response(api=ApiKey.API_VERSIONS, versions=(0, 3), flexible=3)
class ApiVersionsResponse:
    """Version range per API. Its header is never flexible and a broker answers versions it does not know with v0, so
    that any client can read it. v3 features (KIP-584).
    """

    error_code: Int16
    api_keys: list[ApiVersion]
    throttle_time_ms: Int32 = since(1, ignorable=True)
    supported_features: list[SupportedFeatureKey] = since(3, tag=0)
    finalized_features_epoch: Int64 = since(3, tag=1, default=-1, ignorable=True)  # -1: unknown
    finalized_features: list[FinalizedFeatureKey] = since(3, tag=2)
