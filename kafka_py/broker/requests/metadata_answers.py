"""Answers to Metadata requests, encoded once for all who ask the same until the metadata change.

After a change of leader every client asks at once: the first builds the answer, in turns with other work, and the
others get the same bytes. Knows neither topics nor who may see them; the handler says what makes two requests equal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable

from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.requests.request_context import EncodedResponse

MOST_ANSWERS = 16
"""Kept at most, one for each version, listener and list of topics that is asked for; the oldest goes first."""


class MetadataAnswers:
    """The answers that hold for the present generation of the cache."""

    def __init__(self, metadata: MetadataCache) -> None:
        self._metadata = metadata
        self._generation = metadata.generation
        self._answers: dict[Hashable, asyncio.Future[EncodedResponse]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    async def get(self, key: Hashable, build: Callable[[], Awaitable[EncodedResponse]]) -> EncodedResponse:
        """The answer under `key`; `build` is called where there is none. Raises what `build` raises.

        build: must take everything from the cache before it first waits (MetadataCache.snapshot).
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
                future.exception()  # perhaps nobody else waits for it
            else:
                future.cancel()
            raise
        future.set_result(made)
        return made
