"""One page of messages of a topic: read forward or backward, filtered, and merged by time over its partitions.

Within a partition messages stay in the order of their offsets, also where their timestamps are not, so that the places
where the next page continues leave nothing out and show nothing twice.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, OffsetAndTimestamp
from kafka_py.clients.metadata import PartitionInfo
from kafka_py.manager.messages.decoding.decoders import RecordDecoder
from kafka_py.manager.messages.decoding.masks import Masks
from kafka_py.manager.messages.matching.expressions import Predicate
from kafka_py.manager.messages.matching.patterns import PatternTooCostly
from kafka_py.manager.messages.message import SHOWN_CHARACTERS, TopicMessage
from kafka_py.manager.messages.positions import BrowseStart, OffsetSpan, StartKind, chosen, places_text, spans_of
from kafka_py.manager.messages.scanning import (
    PartitionScan,
    ScanBudget,
    ScanLimits,
    ScanSource,
    StopReason,
)

MOST_SHOWN = 500
MOST_KEPT = 5_000
"""Messages that are kept while partitions are merged."""
MOST_KEPT_CHARACTERS = 24 * 1024 * 1024
FILTERED_WINDOW = 5_000
"""So many records of all partitions are looked through at a time, backward, for those that a filter lets through."""
TURN_MS = 4.0


class TopicSource(ScanSource, Protocol):
    """What browsing needs of AsyncConsumer besides reading."""

    async def partitions_for(self, topic: str, timeout: float | None = None) -> list[PartitionInfo]: ...
    async def beginning_offsets(
        self, partitions: Sequence[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]: ...
    async def end_offsets(
        self, partitions: Sequence[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]: ...
    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]: ...


class MessageView(NamedTuple):
    """From records to what may be seen of them. predicate: None lets everything through."""

    decoder: RecordDecoder = RecordDecoder()
    masks: Masks = Masks()
    predicate: Predicate | None = None

    def seen(self, record: ConsumerRecord) -> TopicMessage | None:
        """The message, masked and not cut; None for one that the filter holds back. Raises PatternTooCostly."""
        message = self.masks.applied(self.decoder.decode(record))
        return message if self.predicate is None or self.predicate(message) else None


class BrowseRequest(NamedTuple):
    """What to show. partitions: none for all. limit: the number of messages."""

    topic: str
    partitions: tuple[int, ...] = ()
    start: BrowseStart = BrowseStart()
    limit: int = 50


class BrowseProgress(NamedTuple):
    """What a partition holds (`first`, inclusive, to `end`) and what of it was read (`read_from` to `read_to`)."""

    partition: int
    first: int
    end: int
    read_from: int
    read_to: int


class BrowsePage(NamedTuple):
    """Messages, in the order of reading: backward the newest first.

    next_places: where the next page begins, for StartKind.PLACES or (backward) BEFORE; None when all is read.
    stopped_by: what was spent before the end; None when all that was asked for was looked at. leaderless: partitions
    that cannot be read at present.
    """

    messages: tuple[TopicMessage, ...]
    progress: tuple[BrowseProgress, ...]
    next_places: str | None
    is_backward: bool
    scanned_records: int
    scanned_bytes: int
    took_ms: int
    stopped_by: StopReason | None
    leaderless: tuple[int, ...] = ()


class TopicLogs(NamedTuple):
    """What the partitions of a topic hold, and those without a leader, of which nothing is known."""

    spans: dict[int, OffsetSpan]
    leaderless: tuple[int, ...] = ()


async def look_up_logs(source: TopicSource, topic: str, partitions: Iterable[int]) -> TopicLogs:
    """What the partitions hold. Raises KafkaError for a topic that does not exist, InvalidPosition for a partition."""
    infos = await source.partitions_for(topic)
    if not infos:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    numbers = chosen({info.partition: OffsetSpan(0, 0) for info in infos}, partitions)
    without = {info.partition for info in infos if info.leader < 0}
    wanted = [TopicPartition(topic, number) for number in numbers if number not in without]
    starts, ends = await asyncio.gather(source.beginning_offsets(wanted), source.end_offsets(wanted))
    spans = {tp.partition: OffsetSpan(starts[tp], max(starts[tp], ends[tp])) for tp in wanted}
    return TopicLogs(spans, tuple(sorted(without.intersection(numbers))))


async def spans_for(source: TopicSource, topic: str, start: BrowseStart, logs: Mapping[int, OffsetSpan]) -> dict[
    int, OffsetSpan
]:  # fmt: skip
    """What of the logs is to be read."""
    at_time: dict[int, int | None] = {}
    if start.kind is StartKind.TIME:
        wanted = {TopicPartition(topic, number): start.timestamp for number in logs}
        found = await source.offsets_for_times(wanted)
        at_time = {tp.partition: None if each is None else each.offset for tp, each in found.items()}
    return spans_of(start, logs, at_time)


async def browse(
    source: TopicSource, request: BrowseRequest, view: MessageView, limits: ScanLimits, clock: Clock
) -> BrowsePage:
    """One page. Raises KafkaError, InvalidPosition."""
    budget = ScanBudget(limits, clock)
    logs, leaderless = await look_up_logs(source, request.topic, request.partitions)
    spans = await spans_for(source, request.topic, request.start, logs)
    reading = _PageReading(source, request, view, budget, spans)
    if request.start.is_backward:
        messages, places = await reading.backward()
    else:
        messages, places = await reading.forward()
    return BrowsePage(
        tuple(messages),
        tuple(BrowseProgress(number, *logs[number], *reading.read[number]) for number in sorted(spans)),
        places_text(places) if _is_more(places, spans, request) else None,
        request.start.is_backward,
        budget.records,
        budget.size_bytes,
        budget.took_ms,
        budget.stopped_by,
        leaderless,
    )


def _is_more(places: Mapping[int, int], spans: Mapping[int, OffsetSpan], request: BrowseRequest) -> bool:
    if request.start.is_backward:
        return any(place > spans[number].start for number, place in places.items())
    return any(place < spans[number].end for number, place in places.items())


class _PageReading:
    """One page in the making. read: what of each partition was read."""

    def __init__(
        self,
        source: ScanSource,
        request: BrowseRequest,
        view: MessageView,
        budget: ScanBudget,
        spans: Mapping[int, OffsetSpan],
    ) -> None:
        self._source = source
        self._topic = request.topic
        self._limit = max(1, min(request.limit, MOST_SHOWN))
        self._view = view
        self._budget = budget
        self._spans = spans
        self._most_of_one = max(1, min(self._limit, MOST_KEPT // max(len(spans), 1)))
        self.read = {number: OffsetSpan(span.start, span.start) for number, span in spans.items()}

    async def forward(self) -> tuple[list[TopicMessage], dict[int, int]]:
        """The first messages, and where the next page begins."""
        scan = PartitionScan(self._source, self._topic, self._spans, self._budget)
        kept = await self._kept(scan, self._most_of_one)
        self.read = {number: OffsetSpan(span.start, scan.next_offsets[number]) for number, span in self._spans.items()}
        shown = list(_merged(kept.values()))[: self._limit]
        places = {}
        for number, messages in kept.items():
            count = sum(message.partition == number for message in shown)
            places[number] = messages[count].offset if count < len(messages) else scan.next_offsets[number]
        return shown, places

    async def backward(self) -> tuple[list[TopicMessage], dict[int, int]]:
        """The last messages, the newest first, and before which offsets the next page ends."""
        window = self._most_of_one
        if self._view.predicate is not None:
            window = max(window, FILTERED_WINDOW // max(len(self._spans), 1))
        ends = {number: span.end for number, span in self._spans.items()}
        kept: dict[int, list[TopicMessage]] = {number: [] for number in self._spans}
        is_retried = False
        while self._is_wanted(kept, ends) and not self._budget.is_spent():
            records = self._budget.records
            pieces = {
                number: OffsetSpan(max(span.start, ends[number] - window), ends[number])
                for number, span in self._spans.items()
                if len(kept[number]) < self._most_of_one
            }
            scan = PartitionScan(self._source, self._topic, pieces, self._budget)
            found = await self._kept(scan, None)
            window *= 2  # what is compacted, or held back by the filter, leaves few messages in many offsets
            for number, piece in pieces.items():
                if number in scan.unfinished:
                    continue  # only its older part was read: the next page looks at all of it
                kept[number] = (found[number] + kept[number])[-self._most_of_one :]
                ends[number] = piece.start
            if not is_retried and self._budget.is_spent() and all(
                ends[number] == span.end for number, span in self._spans.items()
            ):
                # No piece was read to its end, and the next page would fail likewise: half as much fits.
                is_retried, window = True, max(1, (self._budget.records - records) // len(pieces) // 2)
                self._budget.extend()
        self.read = {number: OffsetSpan(ends[number], span.end) for number, span in self._spans.items()}
        return self._newest(kept, ends)

    def _newest(self, kept: Mapping[int, list[TopicMessage]], ends: Mapping[int, int]) -> tuple[
        list[TopicMessage], dict[int, int]
    ]:  # fmt: skip
        shown = list(_merged_backward(kept.values()))[: self._limit]
        places = {}
        for number, messages in kept.items():
            count = sum(message.partition == number for message in shown)
            if count < len(messages):
                places[number] = messages[len(messages) - count - 1].offset + 1
            elif count == self._most_of_one:
                places[number] = messages[0].offset
            else:
                places[number] = ends[number]
        return shown, places

    def _is_wanted(self, kept: Mapping[int, list[TopicMessage]], ends: Mapping[int, int]) -> bool:
        """Whether older records could still belong to the page."""
        return any(
            len(kept[number]) < self._most_of_one and ends[number] > span.start for number, span in self._spans.items()
        )

    async def _kept(self, scan: PartitionScan, most: int | None) -> dict[int, list[TopicMessage]]:
        """The messages of each partition that the filter lets through, cut: the first `most` of each, or the last."""
        kept: dict[int, list[TopicMessage]] = {number: [] for number in self._spans}
        characters = 0
        clock = self._budget.clock
        turn_ends_ms = clock.monotonic_ms() + TURN_MS
        async for part in scan.parts():
            for record in part:
                message = self._seen(record)
                if message is not None:
                    cut = message.cut_to(SHOWN_CHARACTERS)
                    characters += cut.kept_characters
                    characters -= self._append(kept[record.partition], cut, keeps_last=most is None)
                if clock.monotonic_ms() > turn_ends_ms:
                    await asyncio.sleep(0)
                    turn_ends_ms = clock.monotonic_ms() + TURN_MS
                if most is not None and len(kept[record.partition]) >= most:
                    scan.next_offsets[record.partition] = record.offset + 1
                    await scan.finish(record.partition)
                    break
                if self._budget.stopped_by is not None or characters > MOST_KEPT_CHARACTERS:
                    self._budget.stopped_by = self._budget.stopped_by or StopReason.BYTES
                    scan.next_offsets[record.partition] = record.offset + 1
                    return kept
        return kept

    def _append(self, messages: list[TopicMessage], message: TopicMessage, *, keeps_last: bool) -> int:
        """Keeps the message; the number of characters of those that are dropped for it."""
        messages.append(message)
        if not keeps_last or len(messages) <= self._most_of_one:
            return 0
        return messages.pop(0).kept_characters

    def _seen(self, record: ConsumerRecord) -> TopicMessage | None:
        try:
            return self._view.seen(record)
        except PatternTooCostly:
            self._budget.stopped_by = StopReason.PATTERN
            return None


def _merged(kept: Iterable[Sequence[TopicMessage]]) -> Iterator[TopicMessage]:
    """By time over partitions, by offset within each."""
    return (message for _, message in heapq.merge(*(_risen(messages) for messages in kept)))


def _risen(messages: Sequence[TopicMessage]) -> list[tuple[tuple[int, int, int], TopicMessage]]:
    """Each message with its place in time: never before that of the one in front of it."""
    risen, latest = [], -1
    for message in messages:
        latest = max(latest, message.timestamp)
        risen.append(((latest, message.partition, message.offset), message))
    return risen


def _merged_backward(kept: Iterable[Sequence[TopicMessage]]) -> Iterator[TopicMessage]:
    """The same from the newest on."""
    return (message for _, message in heapq.merge(*(_fallen(messages) for messages in kept)))


def _fallen(messages: Sequence[TopicMessage]) -> list[tuple[tuple[int, int, int], TopicMessage]]:
    fallen: list[tuple[tuple[int, int, int], TopicMessage]] = []
    earliest: int | None = None
    for message in reversed(messages):
        earliest = message.timestamp if earliest is None else min(earliest, message.timestamp)
        fallen.append(((-earliest, message.partition, -message.offset), message))
    return fallen
