"""SyncGroup (14): the group's leader hands out the assignment, everyone collects theirs."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, Int32, String, request, response, since, struct


@struct
class SyncGroupRequestAssignment:
    member_id: String
    assignment: Bytes


@request(api=ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4)
class SyncGroupRequest:
    """From the leader: what every member gets. From the others: just the question. v3 static members (KIP-345), v5
    protocol type and name are checked (KIP-559).
    """

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = since(3, default=None)
    protocol_type: String | None = since(5, default=None, ignorable=True)
    protocol_name: String | None = since(5, default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment]


@response(api=ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4)
class SyncGroupResponse:
    """What this member gets."""

    throttle_time_ms: Int32 = since(1, ignorable=True)
    error_code: Int16
    protocol_type: String | None = since(5, default=None, ignorable=True)
    protocol_name: String | None = since(5, default=None, ignorable=True)
    assignment: Bytes
