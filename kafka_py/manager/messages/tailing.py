"""New messages of a topic as server-sent events, until the browser leaves or the tail has lasted long enough.

A busy topic shows so many messages per second; the others are counted. Each event is one line of JSON, for scripts of
the page only: a page puts it in place as text, never as HTML.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.records import ConsumerRecord
from kafka_py.manager.messages.browsing import TURN_MS, MessageView
from kafka_py.manager.messages.matching.patterns import PatternTooCostly
from kafka_py.manager.messages.message import MessageField, TopicMessage
from kafka_py.manager.messages.scanning import POLL_S, ScanSource

TAILED_CHARACTERS = 2_048
MOST_TAILS = 20


class TailLimits(NamedTuple):
    """shown_per_second: messages. alive_ms: a silent stream says so often that it is there."""

    shown_per_second: int = 50
    lasts_ms: int = 15 * 60_000
    alive_ms: int = 10_000


class TooManyTails(Exception):
    """So many streams are open already."""


class OpenStreams:
    """Counts the tails and exports of the manager. Each holds a consumer."""

    def __init__(self, most: int = MOST_TAILS) -> None:
        self.most = most
        self.count = 0

    @contextmanager
    def one_more(self) -> Any:
        """Raises TooManyTails."""
        if self.count >= self.most:
            raise TooManyTails(f"{self.most} tails and exports are open, and no more at a time: close one of them")
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1


def event(name: str, document: Any) -> bytes:
    """One server-sent event. JSON has no line ends inside, so that data cannot look like another event."""
    return f"event: {name}\ndata: {json.dumps(document)}\n\n".encode()


def shown_message(message: TopicMessage) -> dict[str, Any]:
    """What the page puts into a row."""
    return {
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "key": _shown_field(message.key),
        "value": _shown_field(message.value),
        "headers": [{"name": header.name, **_shown_field(header.field)} for header in message.headers],
        "more_headers": message.more_headers,
    }


def _shown_field(field: MessageField) -> dict[str, Any]:
    return {"kind": field.kind, "text": field.text, "size": field.size, "is_cut": field.is_cut}


class MessageTail:
    """One stream of events."""

    def __init__(self, source: ScanSource, view: MessageView, limits: TailLimits, clock: Clock) -> None:
        self._source = source
        self._view = view
        self._limits = limits
        self._clock = clock
        self._second_ms = clock.monotonic_ms()
        self._shown = 0
        self._skipped = 0

    async def events(self, topic: str, ends: Mapping[int, int]) -> AsyncIterator[bytes]:
        """Events `message`, `skipped` (a number) and, last, `end` with the reason. ends: where to begin."""
        yield event("begin", {"partitions": sorted(ends)})
        partitions = [TopicPartition(topic, number) for number in sorted(ends)]
        await self._source.assign(partitions)
        for partition in partitions:
            await self._source.seek(partition, ends[partition.partition])
        started_ms = said_ms = self._clock.monotonic_ms()
        while self._clock.monotonic_ms() - started_ms < self._limits.lasts_ms:
            try:
                records = list(await self._source.poll(POLL_S))
                lines = await self._lines(records)
            except KafkaError as error:
                yield event("end", {"why": f"{error.code.name}: {error.message}"})
                return
            except PatternTooCostly as error:
                yield event("end", {"why": str(error)})
                return
            now_ms = self._clock.monotonic_ms()
            if not lines and now_ms - said_ms >= self._limits.alive_ms:
                lines = [b": alive\n\n"]
            if lines:
                said_ms = now_ms
                yield b"".join(lines)
        yield event("end", {"why": f"the tail has lasted {self._limits.lasts_ms // 60_000} minutes"})

    async def _lines(self, records: list[ConsumerRecord]) -> list[bytes]:
        """The events of some records: no more messages per second than allowed."""
        lines: list[bytes] = []
        turn_ends_ms = self._clock.monotonic_ms() + TURN_MS
        for record in records:
            now_ms = self._clock.monotonic_ms()
            if now_ms - self._second_ms >= 1_000:
                lines += self._said_skipped()
                self._second_ms, self._shown = now_ms, 0
            if self._shown >= self._limits.shown_per_second:
                self._skipped += 1
                continue
            message = self._view.seen(record)
            if message is not None:
                self._shown += 1
                lines.append(event("message", shown_message(message.cut_to(TAILED_CHARACTERS))))
            if now_ms > turn_ends_ms:
                await asyncio.sleep(0)
                turn_ends_ms = self._clock.monotonic_ms() + TURN_MS
        return lines if records else self._said_skipped()

    def _said_skipped(self) -> list[bytes]:
        skipped, self._skipped = self._skipped, 0
        return [event("skipped", {"count": skipped})] if skipped else []
