"""DeleteGroups (42): delete empty groups with their offsets (KIP-229)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Int16, Int32, String, request, response, struct


@request(api=ApiKey.DELETE_GROUPS, versions=(0, 2), flexible=2)
class DeleteGroupsRequest:
    """Group ids."""

    groups_names: list[String]


@struct
class DeletableGroupResult:
    group_id: String
    error_code: Int16


@response(api=ApiKey.DELETE_GROUPS, versions=(0, 2), flexible=2)
class DeleteGroupsResponse:
    """An error for each group."""

    throttle_time_ms: Int32
    results: list[DeletableGroupResult]
