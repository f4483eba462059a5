"""The connection of the transaction coordinator to its own broker: the markers of transactions for partitions led here.

The handler of WriteTxnMarkers is called, without a socket and without encoding; the requests are counted as others are.
Apache Kafka 2.8.2 sends these over the network too. Source: docs/reference/transactions.md, section 8.
"""

from __future__ import annotations

import asyncio
from typing import Any

from kafka_py.base.turns import next_turn
from kafka_py.broker.handlers.records.write_txn_markers import handle
from kafka_py.broker.observe.metrics import ApiMetrics
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import ANSWERS_LATER
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse


class OwnMarkers:
    """A LinkConnection; the only request that it takes is WriteTxnMarkers."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._metrics = node.request_metrics.of(APIS[ApiKey.WRITE_TXN_MARKERS])

    async def send(self, request: WriteTxnMarkersRequest, version: int) -> Any:
        """The response, when all markers are replicated or have failed."""
        self._metrics.count(version)
        await next_turn()  # so that EndTxn and its markers do not share one turn of the event loop
        own = _OwnRequest(self._metrics)
        outcome = handle(self._node, own, request)
        if outcome is not ANSWERS_LATER:
            await outcome  # type: ignore[misc]
        return own.response if own.response is not None else await own.answered()

    def close(self) -> None:
        """There is nothing to close."""


class _OwnRequest:
    """One request in progress. response: None until there is one."""

    __slots__ = ("_future", "metrics", "response")

    def __init__(self, metrics: ApiMetrics) -> None:
        self.metrics = metrics
        self.response: WriteTxnMarkersResponse | None = None
        self._future: asyncio.Future[WriteTxnMarkersResponse] | None = None

    def answer(self, response: WriteTxnMarkersResponse) -> None:
        self.response = response
        if self._future is not None and not self._future.done():
            self._future.set_result(response)

    async def answered(self) -> WriteTxnMarkersResponse:
        self._future = asyncio.get_running_loop().create_future()
        return await self._future
