"""LeaveGroup (13): members go, or are sent away."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, since, struct


@struct
class MemberIdentity:
    """A member by id, or a static one by instance id."""

    member_id: String
    group_instance_id: String | None = since(3, default=None)


@request(api=ApiKey.LEAVE_GROUP, versions=(0, 4), flexible=4)
class LeaveGroupRequest:
    """One member leaves, or from v3 on several are removed (KIP-345)."""

    group_id: String
    member_id: String = since(0, until=2)
    members: list[MemberIdentity] = since(3)


@struct
class MemberResponse:
    member_id: String
    group_instance_id: String | None
    error_code: Int16


@response(api=ApiKey.LEAVE_GROUP, versions=(0, 4), flexible=4)
class LeaveGroupResponse:
    """The result; from v3 on for each member."""

    throttle_time_ms: Int32 = since(1, ignorable=True)
    error_code: Int16
    members: list[MemberResponse] = since(3)
