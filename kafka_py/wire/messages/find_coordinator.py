"""FindCoordinator (10): which broker looks after a group or a transactional id."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int8, Int16, Int32, String, request, response, since


@request(api=ApiKey.FIND_COORDINATOR, versions=(0, 3), flexible=3)
class FindCoordinatorRequest:
    """A group id, or from v1 on a transactional id (KIP-98)."""

    key: String
    key_type: Int8 = since(1)  # 0: group, 1: transactional id


@response(api=ApiKey.FIND_COORDINATOR, versions=(0, 3), flexible=3)
class FindCoordinatorResponse:
    """The broker to talk to."""

    throttle_time_ms: Int32 = since(1, ignorable=True)
    error_code: Int16
    error_message: String | None = since(1, ignorable=True)
    node_id: Int32
    host: String
    port: Int32
