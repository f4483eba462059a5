"""ListGroups (16): the groups that one broker coordinates."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, since, struct


@request(api=ApiKey.LIST_GROUPS, versions=(0, 4), flexible=3)
class ListGroupsRequest:
    """All groups, or from v4 on those in given states (KIP-518)."""

    states_filter: list[String] = since(4)


@struct
class ListedGroup:
    group_id: String
    protocol_type: String
    group_state: String = since(4, ignorable=True)


@response(api=ApiKey.LIST_GROUPS, versions=(0, 4), flexible=3)
class ListGroupsResponse:
    """Id, protocol type and from v4 on the state of each group (KIP-518)."""

    throttle_time_ms: Int32 = since(1, ignorable=True)
    error_code: Int16
    groups: list[ListedGroup]
