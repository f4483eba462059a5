"""DeleteAcls (31): remove all ACLs that match filters."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, String, request, response, since, struct


@struct
class DeleteAclsFilter:
    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = since(1, default=3)  # 1: any, 2: match, 3: literal, 4: prefixed
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


@request(api=ApiKey.DELETE_ACLS, versions=(0, 2), flexible=2)
class DeleteAclsRequest:
    """Filters as in DescribeAcls (KIP-140). v1 pattern types (KIP-290)."""

    filters: list[DeleteAclsFilter]


@struct
class DeleteAclsMatchingAcl:
    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = since(1, default=3)
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@struct
class DeleteAclsFilterResult:
    error_code: Int16
    error_message: String | None
    matching_acls: list[DeleteAclsMatchingAcl]


@response(api=ApiKey.DELETE_ACLS, versions=(0, 2), flexible=2)
class DeleteAclsResponse:
    """What each filter matched, and whether it could be removed."""

    throttle_time_ms: Int32
    filter_results: list[DeleteAclsFilterResult]
