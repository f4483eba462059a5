"""Shared by calls on groups and on transactional ids: each is sent to its coordinator, which is found for each call.

And again when it has moved or is loading. Source: KafkaAdminClient; KIP-98.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import IntEnum
from typing import TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.core import TRY_AGAIN, UNREACHABLE, AdminCore, error_of
from kafka_py.clients.admin.results import Results
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest

V = TypeVar("V")

MOVED = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
"""Errors after which the coordinator is found again."""

TRY_COORDINATORS_AGAIN = (*TRY_AGAIN, *MOVED, *UNREACHABLE)

Ask = Callable[[int, list[str], int], Awaitable[Mapping[str, V | KafkaError]]]
"""(coordinator's node id, keys, time-out in ms) -> the result of each key."""


class KeyType(IntEnum):
    """What a key is, with the numbers of the protocol."""

    GROUP = 0
    TRANSACTIONAL_ID = 1


_NAMES = {KeyType.GROUP: "group", KeyType.TRANSACTIONAL_ID: "transactional id"}


async def per_key(
    core: AdminCore, keys: Iterable[str], ask: Ask[V], timeout: float | None, key_type: KeyType = KeyType.GROUP
) -> Results[str, V]:
    """Sends one request per coordinator, for all of its keys."""

    async def find(key: str, timeout_ms: int) -> int | KafkaError:
        try:
            return await _coordinator(core, key, key_type, timeout_ms)
        except KafkaError as error:
            if error.code in UNREACHABLE:
                raise
            return error

    async def ask_node(node_id: int, some: list[str], timeout_ms: int) -> Mapping[str, V | KafkaError]:
        try:
            return await ask(node_id, some, timeout_ms)
        except KafkaError as error:
            return dict.fromkeys(some, error)

    async def attempt(some: list[str], timeout_ms: int) -> dict[str, V | KafkaError]:
        found = await asyncio.gather(*(find(key, timeout_ms) for key in some))
        answers: dict[str, V | KafkaError] = {}
        by_node: dict[int, list[str]] = {}
        for key, node in zip(some, found, strict=True):
            if isinstance(node, KafkaError):
                answers[key] = node
            else:
                by_node.setdefault(node, []).append(key)
        for part in await asyncio.gather(*(ask_node(node, part, timeout_ms) for node, part in by_node.items())):
            answers.update(part)
        return answers

    return await core.per_item(dict.fromkeys(keys), attempt, timeout, try_again=TRY_COORDINATORS_AGAIN)


async def _coordinator(core: AdminCore, key: str, key_type: KeyType, timeout_ms: int) -> int:
    """The node id of the key's coordinator. Raises KafkaError."""
    what = f"the coordinator of {_NAMES[key_type]} {key}"
    request = FindCoordinatorRequest(key=key, key_type=key_type)
    response = await core.cluster.send_any(request, timeout_ms=timeout_ms)
    failure = error_of(response.error_code, response.error_message, what)
    if failure is not None:
        raise failure
    node_id: int = response.node_id
    await core.know(node_id)
    if node_id not in core.cluster.view.nodes:
        detail = f"{what}, broker {node_id}, is not part of the cluster"
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, detail)
    return node_id
