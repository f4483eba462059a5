"""Commits offsets of a group to its coordinator and fetches them; retriable errors are retried.

For members of the group and for consumers that only store offsets under its name. committer.py decides when to commit
automatically. Source: ConsumerCoordinator; KIP-320 (epochs), KIP-447 (stable offsets).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.consumer.fetching.fetch_sessions import by_topic
from kafka_py.clients.consumer.group import NO_GENERATION, Generation, GroupMember
from kafka_py.clients.consumer.metrics import CoordinatorMetrics
from kafka_py.clients.coordinator import Coordinator
from kafka_py.clients.errors import ClientTimeout, CommitFailed, RebalanceInProgress, error_code
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse

_log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

WAITS_FOR_STABLE_SINCE = 7
"""The version of OffsetFetch that can wait for pending transactions."""


class CommittedOffsets:
    """The committed offsets of one consumer's group."""

    def __init__(
        self,
        options: ConsumerOptions,
        member: GroupMember,
        coordinator: Coordinator,
        clock: Clock,
        metrics: CoordinatorMetrics,
    ) -> None:
        self._options = options
        self._member = member
        self._coordinator = coordinator
        self._clock = clock
        self._metrics = metrics

    # ---- commit

    async def commit(self, offsets: Offsets, timeout_ms: float, *, as_member: bool) -> None:
        """Commits the offsets, retried until it succeeds or `timeout_ms` has expired.

        as_member: whether the partitions were assigned by the group.
        Raises CommitFailed, RebalanceInProgress, ClientTimeout, KafkaError.
        """
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        begun_ms = self._clock.monotonic_ms()
        while offsets:
            try:
                async with asyncio.timeout(max(0.0, deadline_ms - self._clock.monotonic_ms()) / 1000):
                    await self.commit_once(offsets, as_member=as_member)
                self._metrics.commit_latency.update(self._clock.monotonic_ms() - begun_ms)
                return
            except TimeoutError:
                raise _commit_timeout(timeout_ms, offsets, self._coordinator.trouble) from None
            except KafkaError as error:
                if not _may_pass(error):
                    raise
                _log.debug("Commit for group %s failed: %s; trying again", self._member.group_id, error)
                if self._clock.monotonic_ms() + self._options.retry_backoff_ms > deadline_ms:
                    raise _commit_timeout(timeout_ms, offsets, self._coordinator.trouble) from error
            await asyncio.sleep(self._options.retry_backoff_ms / 1000)

    async def commit_once(self, offsets: Offsets, *, as_member: bool) -> None:
        """Makes one attempt to commit. Raises KafkaError, retriable or not."""
        generation: Generation | None = NO_GENERATION
        if as_member:
            generation = self._member.stable_generation
            if generation is None:
                raise RebalanceInProgress if self._member.is_joining else CommitFailed(ErrorCode.UNKNOWN_MEMBER_ID)
        assert generation is not None
        request = OffsetCommitRequest(
            group_id=self._member.group_id,
            generation_id=generation.id,
            member_id=generation.member_id,
            group_instance_id=self._options.group_instance_id if as_member else None,
            topics=_topics_to_commit(offsets),
        )
        self._metrics.commits += 1
        response = await self._coordinator.send(request)
        codes = [error_code(answer.error_code) for topic in response.topics for answer in topic.partitions]
        for code in codes:
            self._take_commit_error(code, generation)

    def _take_commit_error(self, code: ErrorCode, generation: Generation) -> None:
        member = self._member
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            if generation == member.generation:
                member.request_rejoin("offset commit failed since group is already rebalancing")
            raise RebalanceInProgress
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            member.fail_generation(code, generation)
            raise CommitFailed(code)
        if code is ErrorCode.REQUEST_TIMED_OUT:
            self._coordinator.forget(code.name)
        self._coordinator.check(code, f"committing offsets of group {member.group_id}")

    # ---- fetch

    async def fetch(
        self, partitions: Collection[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The committed offsets of these partitions; None where there is none.

        Raises ClientTimeout, KafkaError that is not retriable.
        """
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        while True:
            try:
                async with asyncio.timeout(max(0.0, deadline_ms - self._clock.monotonic_ms()) / 1000):
                    return await self._fetch_once(partitions)
            except TimeoutError:
                raise _fetch_timeout(timeout_ms, partitions, self._coordinator.trouble) from None
            except KafkaError as error:
                if not _may_pass(error) or error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                if self._clock.monotonic_ms() + self._options.retry_backoff_ms > deadline_ms:
                    raise _fetch_timeout(timeout_ms, partitions, self._coordinator.trouble) from error
            await asyncio.sleep(self._options.retry_backoff_ms / 1000)

    async def _fetch_once(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        stable = self._options.reads_committed
        if stable and await self._coordinator.version_for(OffsetFetchRequest) < WAITS_FOR_STABLE_SINCE:
            stable = False
        topics = [OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
                  for name, numbers in by_topic(partitions).items()]  # fmt: skip
        request = OffsetFetchRequest(group_id=self._member.group_id, topics=topics, require_stable=stable)
        response: OffsetFetchResponse = await self._coordinator.send(request)
        what = f"fetching offsets of group {self._member.group_id}"
        self._coordinator.check(response.error_code, what)
        found: dict[TopicPartition, OffsetAndMetadata | None] = dict.fromkeys(partitions)
        for topic in response.topics:
            for each in topic.partitions:
                self._coordinator.check(each.error_code, f"{what}, {topic.name}-{each.partition_index}")
                if each.committed_offset >= 0:
                    found[TopicPartition(topic.name, each.partition_index)] = OffsetAndMetadata(
                        each.committed_offset, each.metadata or "", each.committed_leader_epoch
                    )
        return found


def _topics_to_commit(offsets: Offsets) -> list[OffsetCommitRequestTopic]:
    topics: dict[str, list[Any]] = {}
    for (topic, number), each in offsets.items():
        topics.setdefault(topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=number,
                committed_offset=each.offset,
                committed_leader_epoch=each.leader_epoch,
                committed_metadata=each.metadata,
            )
        )
    return [OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in topics.items()]


def _may_pass(error: KafkaError) -> bool:
    return error.retriable or error.code is ErrorCode.BROKER_NOT_AVAILABLE


def _commit_timeout(timeout_ms: float, offsets: Offsets, trouble: str) -> ClientTimeout:
    named = ", ".join(f"{partition}: {each.offset}" for partition, each in sorted(offsets.items()))
    return ClientTimeout(f"offsets {{{named}}} could not be committed within {timeout_ms:.0f} ms{trouble}")


def _fetch_timeout(timeout_ms: float, partitions: Collection[TopicPartition], trouble: str) -> ClientTimeout:
    named = ", ".join(str(partition) for partition in sorted(partitions))
    return ClientTimeout(
        f"the committed offsets of {named} could not be fetched within {timeout_ms:.0f} ms, which "
        f"default.api.timeout.ms limits unless a call has a timeout{trouble}"
    )
