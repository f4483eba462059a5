"""Validates positions after a change of leader: were records before them truncated? (KIP-320)

A new leader may lack records that consumers have read from the previous one. Before the first fetch under a newer
leader epoch, OffsetsForLeaderEpoch tells where the epoch of the last record read ends; a position past that end refers
to records that were truncated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import CONSUMER_REPLICA_ID, TopicPartition
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.consumer.configs import NONE, ConsumerOptions
from kafka_py.clients.consumer.subscriptions import AssignedPartition, Subscriptions
from kafka_py.clients.errors import LogTruncation, error_code
from kafka_py.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

_log = logging.getLogger(__name__)

USABLE_SINCE = 3
"""The first version of OffsetsForLeaderEpoch that does not need authorization on the cluster."""


class Validation:
    """The validations of one consumer.

    on_done: called when fetches may continue. on_error: called with a partition and the error that poll is to raise.
    reset: resets a partition's position by auto.offset.reset.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        cluster: Cluster,
        subscriptions: Subscriptions,
        *,
        on_done: Callable[[], object],
        on_error: Callable[[AssignedPartition, KafkaError], object],
        reset: Callable[[AssignedPartition], object],
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._on_done = on_done
        self._on_error = on_error
        self._reset = reset
        self._tasks: dict[asyncio.Task[None], None] = {}

    def begin(self, node_id: int, states: list[AssignedPartition]) -> None:
        """Starts to validate partitions that a node leads; they are `validating` until that is done."""
        for state in states:
            state.validating = True
        task = self._cluster.supervisor.spawn(self._check(node_id, states), "position validation", node_id)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    async def _check(self, node_id: int, states: list[AssignedPartition]) -> None:
        asked = {state.topic_partition: (state, state.generation, self._epoch_of(state)) for state in states}
        try:
            connection = await self._cluster.connection(node_id)
            if connection.version_for(OffsetForLeaderEpochRequest) < USABLE_SINCE:
                self._accept(asked.values())
            else:
                response = await self._cluster.send(node_id, self._request(states))
                self._take(response, asked)
        except KafkaError as error:
            _log.debug("Positions could not be validated: %s", error)
            if error.code is ErrorCode.UNSUPPORTED_VERSION:
                self._accept(asked.values())
            self._delay(states)
        except Exception as error:
            self._cluster.supervisor.report("position validation", error, node_id)
            self._delay(states)
        finally:
            for state in states:
                state.validating = False
                self._subscriptions.touch(state.topic_partition)
        self._on_done()

    def _epoch_of(self, state: AssignedPartition) -> int:
        info = self._cluster.view.partition(state.topic_partition)
        return -1 if info is None else info.leader_epoch

    def _request(self, states: list[AssignedPartition]) -> OffsetForLeaderEpochRequest:
        topics: dict[str, list[OffsetForLeaderPartition]] = {}
        for state in states:
            topic, number = state.topic_partition
            topics.setdefault(topic, []).append(
                OffsetForLeaderPartition(
                    partition=number, current_leader_epoch=self._epoch_of(state), leader_epoch=state.fetch_epoch
                )
            )
        return OffsetForLeaderEpochRequest(
            replica_id=CONSUMER_REPLICA_ID,
            topics=[OffsetForLeaderTopic(topic=name, partitions=p) for name, p in topics.items()],
        )

    def _accept(self, checked: Iterable[tuple[AssignedPartition, int, int]]) -> None:
        for state, generation, epoch in checked:
            if state.generation == generation:
                state.validated_epoch = epoch

    def _delay(self, states: Iterable[AssignedPartition]) -> None:
        self._cluster.request_refresh()
        retry_at = self._cluster.clock.monotonic_ms() + self._options.retry_backoff_ms
        for state in states:
            state.retry_at = retry_at

    def _take(self, response: Any, asked: dict[TopicPartition, tuple[AssignedPartition, int, int]]) -> None:
        for topic in response.topics:
            for answer in topic.partitions:
                state, generation, epoch = asked[TopicPartition(topic.topic, answer.partition)]
                if state.generation != generation or self._subscriptions.get(state.topic_partition) is not state:
                    continue  # the position or the assignment has changed meanwhile
                code = error_code(answer.error_code)
                if code is not ErrorCode.NONE:
                    self._delay([state])
                elif answer.end_offset < 0 or answer.leader_epoch < 0:
                    self._lost(state, None)
                elif state.fetch_offset is not None and answer.end_offset < state.fetch_offset:
                    self._lost(state, answer.end_offset)
                    state.validated_epoch = epoch
                else:
                    state.validated_epoch = epoch

    def _lost(self, state: AssignedPartition, end_offset: int | None) -> None:
        """Handles truncation from `end_offset` on (None: the leader does not know the epoch at all)."""
        partition, offset = state.topic_partition, state.fetch_offset
        if self._options.auto_offset_reset == NONE:
            self._delay([state])
            self._on_error(state, LogTruncation(partition, offset, end_offset))
        elif end_offset is None:
            _log.info("The log of %s was truncated below offset %s; resetting the position", partition, offset)
            self._reset(state)
        else:
            _log.info(
                "The log of %s was truncated below offset %s; continuing at offset %d", partition, offset,
                end_offset,
            )  # fmt: skip
            state.seek(end_offset if state.position is None else min(state.position, end_offset))

    def close(self) -> None:
        """Cancels the validations."""
        for task in list(self._tasks):
            task.cancel()
