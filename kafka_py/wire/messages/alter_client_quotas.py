"""AlterClientQuotas (49): set and remove quotas (KIP-546)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Float64, Int16, Int32, String, request, response, struct


@struct
class EntityData:
    """One part of an entity, such as a user; a null name is the default."""

    entity_type: String
    entity_name: String | None


@struct
class OpData:
    """One quota to set, or to remove."""

    key: String
    value: Float64
    remove: Bool


@struct
class EntryData:
    entity: list[EntityData]
    ops: list[OpData]


@request(api=ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class AlterClientQuotasRequest:
    """For each entity the quotas to set or remove."""

    entries: list[EntryData]
    validate_only: Bool


@struct
class EntryResult:
    error_code: Int16
    error_message: String | None
    entity: list[EntityData]


@response(api=ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class AlterClientQuotasResponse:
    """An error for each entity."""

    throttle_time_ms: Int32
    entries: list[EntryResult]
