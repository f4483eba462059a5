"""JoinGroup (11): become a member of a group, or take part in its rebalance."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bytes, Int16, Int32, String, request, response, since, struct


@struct
class JoinGroupRequestProtocol:
    """An assignment strategy and this member's subscription in its terms."""

    name: String
    metadata: Bytes


@request(api=ApiKey.JOIN_GROUP, versions=(0, 7), flexible=6)
class JoinGroupRequest:
    """A member names the assignment strategies that it knows, best first. v1 rebalance timeout (KIP-62), v4 the member
    id is assigned in a first round (KIP-394), v5 static members (KIP-345).
    """

    group_id: String
    session_timeout_ms: Int32
    rebalance_timeout_ms: Int32 = since(1, default=-1, ignorable=True)
    member_id: String  # empty: new
    group_instance_id: String | None = since(5, default=None)
    protocol_type: String
    protocols: list[JoinGroupRequestProtocol]


@struct
class JoinGroupResponseMember:
    member_id: String
    group_instance_id: String | None = since(5, default=None)
    metadata: Bytes


@response(api=ApiKey.JOIN_GROUP, versions=(0, 7), flexible=6)
class JoinGroupResponse:
    """The new generation: its leader, the chosen protocol, and for the leader all members with their metadata."""

    throttle_time_ms: Int32 = since(2, ignorable=True)
    error_code: Int16
    generation_id: Int32 = since(0, default=-1)
    protocol_type: String | None = since(7, default=None, ignorable=True)
    protocol_name: String | None = since(0, null_since=7)
    leader: String
    member_id: String
    members: list[JoinGroupResponseMember]
