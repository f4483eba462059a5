"""CreateAcls (30): add ACLs."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, String, request, response, since, struct


@struct
class AclCreation:
    resource_type: Int8
    resource_name: String
    resource_pattern_type: Int8 = since(1, default=3)  # 3: literal, 4: prefixed
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


@request(api=ApiKey.CREATE_ACLS, versions=(0, 2), flexible=2)
class CreateAclsRequest:
    """ACLs to add (KIP-140). v1 pattern types (KIP-290)."""

    creations: list[AclCreation]


@struct
class AclCreationResult:
    error_code: Int16
    error_message: String | None


@response(api=ApiKey.CREATE_ACLS, versions=(0, 2), flexible=2)
class CreateAclsResponse:
    """An error for each ACL, in the order asked."""

    throttle_time_ms: Int32
    results: list[AclCreationResult]
