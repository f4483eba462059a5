"""Producer ids: allocated from ZooKeeper in blocks of a thousand, and assigned one by one.

Knows how to claim a block; nothing of transactions. Source: docs/reference/zookeeper.md, section 12.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kafka_py.zk.admin import ProducerIdBlock

ClaimBlock = Callable[[], Awaitable[ProducerIdBlock]]


class ProducerIds:
    """The remaining ids of this broker's block."""

    def __init__(self, claim: ClaimBlock) -> None:
        self._claim = claim
        self._next = 0
        self._last = -1
        self._claiming = asyncio.Lock()

    async def claim_first(self) -> None:
        """Claims a block at start-up, as Apache Kafka does, so that the first producer need not wait."""
        async with self._claiming:
            await self._claim_block()

    async def next_id(self) -> int:
        """A producer id that is unique in the cluster."""
        if self._next > self._last:
            async with self._claiming:
                if self._next > self._last:  # no other request has claimed a block meanwhile
                    await self._claim_block()
        taken = self._next
        self._next += 1
        return taken

    async def _claim_block(self) -> None:
        block = await self._claim()
        self._next, self._last = block.first, block.last
