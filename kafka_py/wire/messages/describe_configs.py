"""DescribeConfigs (32): settings of topics, brokers and loggers, and where each value comes from."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Int8, Int16, Int32, String, request, response, since, struct


@struct
class DescribeConfigsResource:
    resource_type: Int8
    resource_name: String
    configuration_keys: list[String] | None


@request(api=ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible=4)
class DescribeConfigsRequest:
    """Resources, each with the names wanted or null for all (KIP-133). v1 synonyms (KIP-226), v3 documentation
    (KIP-569).
    """

    resources: list[DescribeConfigsResource]
    include_synonyms: Bool = since(1)
    include_documentation: Bool = since(3)


@struct
class DescribeConfigsSynonym:
    """A value that would apply if those before it were not there."""

    name: String
    value: String | None
    source: Int8


@struct
class DescribeConfigsResourceResult:
    name: String
    value: String | None
    read_only: Bool
    is_default: Bool = since(0, until=0)
    config_source: Int8 = since(1, default=-1, ignorable=True)
    is_sensitive: Bool
    synonyms: list[DescribeConfigsSynonym] = since(1, ignorable=True)
    config_type: Int8 = since(3, ignorable=True)
    documentation: String | None = since(3, ignorable=True)


@struct
class DescribeConfigsResult:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    configs: list[DescribeConfigsResourceResult]


@response(api=ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible=4)
class DescribeConfigsResponse:
    """Settings of each resource. v1 source and synonyms (KIP-226), v3 type and documentation (KIP-569)."""

    throttle_time_ms: Int32
    results: list[DescribeConfigsResult]
