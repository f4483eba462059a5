"""Heartbeat (12): a group member is alive."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, since


@request(api=ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
class HeartbeatRequest:
    """A member says it is alive; the answer may send it to rejoin. v3 static members (KIP-345)."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = since(3, default=None)


@response(api=ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
class HeartbeatResponse:
    """Fine, or a reason to rejoin or to stop."""

    throttle_time_ms: Int32 = since(1, ignorable=True)
    error_code: Int16
