"""AlterConfigs (33): replace all settings of a topic or broker at once."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int8, Int16, Int32, String, request, response, struct


@struct
class AlterableConfig:
    name: String
    value: String | None  # null: back to the default


@struct
class AlterConfigsResource:
    resource_type: Int8
    resource_name: String
    configs: list[AlterableConfig]


@request(api=ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2)
class AlterConfigsRequest:
    """The complete new settings: what is not named returns to its default (KIP-133)."""

    resources: list[AlterConfigsResource]
    validate_only: Bool


@struct
class AlterConfigsResourceResponse:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


@response(api=ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2)
class AlterConfigsResponse:
    """An error for each resource."""

    throttle_time_ms: Int32
    responses: list[AlterConfigsResourceResponse]
