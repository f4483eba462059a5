"""Waiting until the metadata cache has the leaders of new partitions, or no longer has a deleted topic.

CreateTopics, CreatePartitions and DeleteTopics write to ZooKeeper; the controller reacts and sends UpdateMetadata to
every broker; only then is the response sent, or REQUEST_TIMED_OUT.
Source: docs/reference/replication.md, section 15 (purgatory "topic").
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping

from kafka_py.base.ids import NO_LEADER, TopicPartition
from kafka_py.base.purgatory import DelayedOperation, Purgatory
from kafka_py.base.turns import Turn
from kafka_py.broker.metadata.metadata_cache import MetadataCache

IsDone = Callable[[], bool | None]
"""None: it has looked for so long that others are to have the loop before it looks further."""

STEP_PARTITIONS = 256

MOST_STEPS = 8
"""Of one look, when the cache has changed: 1.5 ms."""

THE_CLUSTER = ""
"""Watch key of operations that wait for the first UpdateMetadata."""


class DelayedTopicChange(DelayedOperation):
    """Waits for topics to be created or deleted. The future gets the topics that are not done at the time-out.

    Only the changed topic is checked, because one request may wait for thousands.
    """

    __slots__ = ("_is_due", "_unsure", "_waiting", "unfinished")

    def __init__(self, waiting: Mapping[str, IsDone]) -> None:
        super().__init__()
        self._waiting = dict(waiting)
        self._unsure: dict[str, None] = {}  # the last look at these has not come to an end
        self._is_due = False  # a further look at one of them
        self.unfinished: asyncio.Future[set[str]] = asyncio.get_running_loop().create_future()
        for topic in waiting:
            self._look_at(topic)

    def touched(self, key: Hashable) -> None:
        if key in self._waiting:  # the keys are the topics
            self._look_at(key)

    def _look_at(self, topic: str) -> None:
        is_done = self._waiting[topic]()
        self._unsure.pop(topic, None)
        if is_done:
            del self._waiting[topic]
        elif is_done is None:
            self._unsure[topic] = None
            self._go_on()

    def _go_on(self) -> None:
        if self._unsure and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._look_further)

    def _look_further(self) -> None:
        self._is_due = False
        if self._unsure and not self.is_completed:
            self._look_at(next(iter(self._unsure)))
            self._go_on()
            self.try_complete()

    def try_complete(self) -> bool:
        return not self._waiting and self.complete()

    def on_complete(self) -> None:
        for topic in self._unsure:  # its time is over: what it would have found is not late
            while (is_done := self._waiting[topic]()) is None:
                pass
            if is_done:
                del self._waiting[topic]
        if not self.unfinished.done():
            self.unfinished.set_result(set(self._waiting))


async def wait_for_topics(
    purgatory: Purgatory[Hashable], waiting: Mapping[str, IsDone], timeout_ms: int
) -> set[str]:
    """Waits until every topic is done, at most `timeout_ms`; returns the topics that are not."""
    if not waiting:
        return set()
    if timeout_ms <= 0:
        return set(waiting)
    operation = DelayedTopicChange(waiting)
    purgatory.try_complete_else_watch(operation, list(waiting), timeout_ms)
    return await operation.unfinished


async def wait_for_leaders(
    purgatory: Purgatory[Hashable], metadata: MetadataCache, wanted: Mapping[str, Iterable[int]], timeout_ms: int,
    turn: Turn,
) -> set[str]:  # fmt: skip
    """Waits until these partitions of each topic have leaders in the cache; returns the topics that are late.

    turn: of the request, for the first look at all of them.
    """
    if timeout_ms <= 0:
        return set(wanted)
    waiting = {}
    for topic, partitions in wanted.items():
        waits = LeaderWait(metadata, topic, partitions)
        await turn.finish(waits.steps())
        if waits.missing is not None:
            waiting[topic] = waits.is_done
    return await wait_for_topics(purgatory, waiting, timeout_ms)


class LeaderWait:
    """Whether each of these partitions has, or had, a leader in the cache. Each check continues where
    the previous one stopped.

    missing: the first partition that had none at the last look, or has not been looked at; None: there is none.
    """

    def __init__(self, metadata: MetadataCache, topic: str, partitions: Iterable[int]) -> None:
        self._metadata = metadata
        self._topic = topic
        self._remaining = iter(partitions)
        self.missing = next(self._remaining, None)

    def steps(self) -> Generator[None, None, None]:
        """Looks as far as there are leaders; yields after every few partitions (base/turns.py)."""
        looked = 0
        while self.missing is not None:
            if not looked % STEP_PARTITIONS:
                yield
            looked += 1
            info = self._metadata.partition(TopicPartition(self._topic, self.missing))
            if info is None or info.leader == NO_LEADER:
                return
            self.missing = next(self._remaining, None)

    def is_done(self) -> bool | None:
        for number, _ in enumerate(self.steps()):
            if number == MOST_STEPS:
                return None
        return self.missing is None


def is_gone(metadata: MetadataCache, topic: str) -> IsDone:
    """A check whether the topic is no longer in the cache."""
    return lambda: not metadata.has_topic(topic)
