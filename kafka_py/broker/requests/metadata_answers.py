"""Metadata responses, encoded once for equal requests until the metadata change.

After a change of leader all clients send Metadata at once: the first request builds the response, in turns with other
work, and the others get the same bytes. Knows neither topics nor authorization; the handler defines the key of equal
requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.requests.request_context import EncodedResponse

MOST_ANSWERS = 16
"""Most cached responses, one per version, listener and list of topics; the oldest is removed first."""


class MetadataAnswers:
    """The cached responses for the current generation of the metadata cache."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._generation = metadata.generation
        self._answers: dict[Hashable, asyncio.Future[EncodedResponse]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    async def get(self, key: Hashable, build: Callable[[], Awaitable[EncodedResponse]]) -> EncodedResponse:
        """The response under `key`; calls `build` if there is none. Raises what `build` raises.

        build: must read the cache before its first wait (MetadataCache.snapshot).
        """
        if self._generation != self._metadata.generation:
            self._answers = {}
            self._generation = self._metadata.generation
        known = self._answers.get(key)
        if known is not None:
            return await asyncio.shield(known)
        if len(self._answers) >= MOST_ANSWERS:
            del self._answers[next(iter(self._answers))]
        return await self._build(key, build)

    async def _build(self, key: Hashable, build: Callable[[], Awaitable[EncodedResponse]]) -> EncodedResponse:
        answers = self._answers
        future = answers[key] = asyncio.get_running_loop().create_future()
        try:
            made = await build()
        except BaseException as error:
            answers.pop(key, None)
            if isinstance(error, Exception):
                future.set_exception(error)
                future.exception()  # marks it as retrieved, in case no other request waits for it
            else:
                future.cancel()
            raise
        future.set_result(made)
        return made
