"""DescribeAcls (29): the ACLs that match a filter."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, String, request, response, since, struct


@request(api=ApiKey.DESCRIBE_ACLS, versions=(0, 2), flexible=2)
class DescribeAclsRequest:
    """A filter; null fields match anything (KIP-140). v1 pattern types (KIP-290)."""

    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = since(1, default=3)  # 1: any, 2: match, 3: literal, 4: prefixed
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


@struct
class AclDescription:
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@struct
class DescribeAclsResource:
    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = since(1, default=3)
    acls: list[AclDescription]


@response(api=ApiKey.DESCRIBE_ACLS, versions=(0, 2), flexible=2)
class DescribeAclsResponse:
    """Matching ACLs, by resource."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    resources: list[DescribeAclsResource]
