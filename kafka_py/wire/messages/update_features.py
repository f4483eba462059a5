"""UpdateFeatures (57): finalize feature versions for the whole cluster (KIP-584)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int16, Int32, String, request, response, since, struct


@struct
class FeatureUpdateKey:
    feature: String
    max_version_level: Int16  # below 1: delete the feature
    allow_downgrade: Bool


@request(api=ApiKey.UPDATE_FEATURES, versions=(0, 0), flexible=0)
class UpdateFeaturesRequest:
    """New highest versions of features."""

    timeout_ms: Int32 = since(0, default=60000)
    feature_updates: list[FeatureUpdateKey]


@struct
class UpdatableFeatureResult:
    feature: String
    error_code: Int16
    error_message: String | None


@response(api=ApiKey.UPDATE_FEATURES, versions=(0, 0), flexible=0)
class UpdateFeaturesResponse:
    """An error for each feature, and one for the whole request."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    results: list[UpdatableFeatureResult]
