"""AlterClientQuotas: sets and removes quotas of users, clients and addresses in ZooKeeper (KIP-546).

Source: docs/reference/quotas.md, section 10; ZkAdminManager.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.turns import Turn
from kafka_py.broker.quotas.quota_keys import IP
from kafka_py.broker.quotas.stored_quotas import Entity, QuotaOp, changed, is_address, path_of
from kafka_py.broker.requests.item_errors import error_of
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
)

_log = logging.getLogger(__name__)

Named = tuple[tuple[str, str | None], ...]


async def handle(node: Node, context: RequestContext, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    """One result per entity; any broker writes to ZooKeeper. An entity that is given twice is changed twice."""
    asked: dict[Named, list[EntryData]] = {}
    turn = Turn(node.clock)
    for entry in request.entries:
        await turn.maybe_yield()
        entity = {part.entity_type: part.entity_name for part in entry.entity}
        asked.setdefault(tuple(entity.items()), []).append(entry)
    results = []
    for named, entries in asked.items():
        await turn.maybe_yield()
        result = EntryResult(
            error_code=ErrorCode.NONE,
            error_message=None,
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in named],
        )
        results.append(result)
        changes = [QuotaOp(op.key, None if op.remove else op.value) for entry in entries for op in entry.ops]
        try:
            await _alter(node, dict(named), changes, validate_only=request.validate_only)
        except Exception as failure:  # an error of this entity only
            error = error_of(failure, _log, f"The quotas of {dict(named)} are not changed")
            context.metrics.count_error(error.code.name)
            result.error_code, result.error_message = error.code, error.message
    return AlterClientQuotasResponse(throttle_time_ms=0, entries=results)


async def _alter(node: Node, entity: Entity, changes: Sequence[QuotaOp], *, validate_only: bool) -> None:
    """Raises KafkaError(INVALID_REQUEST)."""
    path = path_of(entity)
    address = entity.get(IP)
    if address is not None and not is_address(address):
        await _resolve(address)
    if validate_only:
        changed({}, entity, changes)
        return

    async def edit(present: Mapping[str, str]) -> dict[str, str]:
        return changed(present, entity, changes)

    async with node.config_locks.hold(path):
        await node.store.configs.edit(path, edit)
        try:
            await node.apply_settings(path)
        except Exception as failure:  # the notification follows
            error_of(failure, _log, f"The quotas of {path} are stored, but could not be applied at once")


async def _resolve(host: str) -> None:
    try:
        await asyncio.get_running_loop().getaddrinfo(host, None)
    except (OSError, UnicodeError):
        text = f"{host} is not a valid IP or resolvable host."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text) from None
