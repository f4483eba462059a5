"""DescribeGroups (15): state and members of groups."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Bytes, Int16, Int32, String, request, response, since, struct


@request(api=ApiKey.DESCRIBE_GROUPS, versions=(0, 5), flexible=5)
class DescribeGroupsRequest:
    """Group ids. v3 authorized operations (KIP-430)."""

    groups: list[String]
    include_authorized_operations: Bool = since(3)


@struct
class DescribedGroupMember:
    member_id: String
    group_instance_id: String | None = since(4, default=None, ignorable=True)
    client_id: String
    client_host: String
    member_metadata: Bytes
    member_assignment: Bytes


@struct
class DescribedGroup:
    error_code: Int16
    group_id: String
    group_state: String
    protocol_type: String
    protocol_data: String
    members: list[DescribedGroupMember]
    authorized_operations: Int32 = since(3, default=-0x80000000)


@response(api=ApiKey.DESCRIBE_GROUPS, versions=(0, 5), flexible=5)
class DescribeGroupsResponse:
    """State, protocol and members of each group. v4 static members (KIP-345)."""

    throttle_time_ms: Int32 = since(1, ignorable=True)
    groups: list[DescribedGroup]
