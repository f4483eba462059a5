"""DescribeClientQuotas (48): quotas that match a filter (KIP-546)."""

from kafka_py.wire.apis import ApiKey
from kafka_py.wire.schema import Bool, Float64, Int8, Int16, Int32, String, request, response, struct


@struct
class ComponentData:
    """One entity type and what its name must be."""

    entity_type: String
    match_type: Int8  # 0: exactly `match`, 1: the default, 2: any given
    match: String | None


@request(api=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class DescribeClientQuotasRequest:
    """Components that entities must match."""

    components: list[ComponentData]
    strict: Bool  # true: no other components besides those asked for


@struct
class EntityData:
    """One part of an entity, such as a user; a null name is the default."""

    entity_type: String
    entity_name: String | None


@struct
class ValueData:
    key: String
    value: Float64


@struct
class EntryData:
    entity: list[EntityData]
    values: list[ValueData]


@response(api=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1)
class DescribeClientQuotasResponse:
    """Entities with their quotas."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None
    entries: list[EntryData] | None
