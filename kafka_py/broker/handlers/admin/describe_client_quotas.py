"""DescribeClientQuotas: the quotas in ZooKeeper that match a filter (KIP-546)."""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import sliced
from kafka_py.broker.quotas.stored_quotas import Component, Quota, check_filter, matching, stored_quotas
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

_EXACT, _DEFAULT, _ANY = range(3)


async def handle(
    node: Node, context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    """Any broker responds, from ZooKeeper. Raises KafkaError for an invalid filter."""
    components = [_component(each) for each in request.components]
    check_filter(components)
    entries: list[EntryData] = []
    async for some in sliced(await stored_quotas(node.store.configs)):
        entries += map(_entry, matching(some, components, strict=request.strict))
    return DescribeClientQuotasResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, error_message="", entries=entries
    )


def _entry(quota: Quota) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in quota.entity.items()],
        values=[ValueData(key=key, value=limit) for key, limit in quota.limits.items()],
    )


def _component(data: ComponentData) -> Component:
    if data.match_type not in (_EXACT, _DEFAULT, _ANY):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown match type {data.match_type}")
    return Component(data.entity_type, data.match if data.match_type == _EXACT else None, data.match_type == _ANY)
