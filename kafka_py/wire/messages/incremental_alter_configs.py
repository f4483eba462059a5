"""IncrementalAlterConfigs (44): set, delete, append to or subtract from single settings (KIP-339)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int8, Int16, Int32, String, request, response, struct


@struct
class AlterableConfig:
    name: String
    config_operation: Int8  # 0: set, 1: delete, 2: append, 3: subtract
    value: String | None  # null: back to the default


@struct
class AlterConfigsResource:
    resource_type: Int8
    resource_name: String
    configs: list[AlterableConfig]


@request(api=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsRequest:
    """Changes to single settings; the others stay as they are."""

    resources: list[AlterConfigsResource]
    validate_only: Bool


@struct
class AlterConfigsResourceResponse:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


@response(api=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1)
class IncrementalAlterConfigsResponse:
    """An error for each resource."""

    throttle_time_ms: Int32
    responses: list[AlterConfigsResourceResponse]
