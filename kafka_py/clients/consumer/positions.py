"""Looks up missing positions: the committed offset, else by auto.offset.reset, or the end that a seek asked for.

Runs in the background; poll() continues with the partitions that have a position. Source: KIP-320 (epochs).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.clients.consumer.commits import CommittedOffsets
from kafka_py.clients.consumer.configs import EARLIEST, NONE, ConsumerOptions
from kafka_py.clients.consumer.offsets import ListOffsetsLookup
from kafka_py.clients.consumer.subscriptions import AssignedPartition, Subscriptions
from kafka_py.clients.errors import ClientTimeout, NoOffsetForPartition

_log = logging.getLogger(__name__)


class PositionLookup:
    """The position look-ups of one consumer.

    group: the committed offsets; None without a group. on_found: called when positions were found.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        subscriptions: Subscriptions,
        lookup: ListOffsetsLookup,
        group: CommittedOffsets | None,
        on_found: Callable[[], object],
        supervisor: Supervisor,
    ) -> None:
        self._options = options
        self._subscriptions = subscriptions
        self._lookup = lookup
        self._group = group
        self._on_found = on_found
        self._supervisor = supervisor
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._error: KafkaError | None = None

    def raise_error(self) -> None:
        """Raises the fatal error of a look-up, if there is one."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def begin(self) -> None:
        """Starts to look up the missing positions.

        Raises NoOffsetForPartition when there are neither committed offsets nor a reset policy.
        """
        missing = [state for state in self._subscriptions.without_position.values() if not state.resetting]
        if not missing:
            return
        if self._group is None:
            self._by_policy([state for state in missing if state.reset_to is None])
        for state in missing:
            state.resetting = True
        task = self._supervisor.spawn(self._find(missing), "position look-up")
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)

    def reset_by_policy(self, state: AssignedPartition) -> None:
        """Resets the position of a partition by auto.offset.reset."""
        earliest = self._options.auto_offset_reset == EARLIEST
        state.reset(EARLIEST_TIMESTAMP if earliest else LATEST_TIMESTAMP)

    def _by_policy(self, states: list[AssignedPartition]) -> None:
        if states and self._options.auto_offset_reset == NONE:
            raise NoOffsetForPartition([state.topic_partition for state in states])
        for state in states:
            self.reset_by_policy(state)

    async def _find(self, states: list[AssignedPartition]) -> None:
        try:
            without = [state for state in states if state.reset_to is None]
            if without and self._group is not None:
                await self._from_group(self._group, without)
            await self._reset([state for state in states if state.reset_to is not None])
        except ClientTimeout as error:
            _log.warning("%s", error)
        except KafkaError as error:
            self._error = error
        except Exception as error:
            self._supervisor.report("position look-up", error)
            self._error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"positions could not be looked up: {error!r}")
        finally:
            for state in states:
                state.resetting = False
            self._on_found()

    async def _from_group(self, group: CommittedOffsets, states: list[AssignedPartition]) -> None:
        generations = {state.topic_partition: state.generation for state in states}
        committed = await group.fetch(list(generations), self._options.default_api_timeout_ms)
        left = []
        for state in states:
            partition = state.topic_partition
            if state.generation != generations[partition]:
                continue  # a seek has set the position meanwhile
            found = committed[partition]
            if found is None:
                left.append(state)
            else:
                _log.info("Setting the position of %s to the committed offset %d", partition, found.offset)
                state.seek(found.offset, found.leader_epoch)
        self._by_policy([state for state in left if self._subscriptions.get(state.topic_partition) is state])

    async def _reset(self, states: list[AssignedPartition]) -> None:
        asked: dict[TopicPartition, int] = {}
        for state in states:
            if state.reset_to is not None and self._subscriptions.get(state.topic_partition) is state:
                asked[state.topic_partition] = state.reset_to
        if not asked:
            return
        generations = {state.topic_partition: state.generation for state in states}
        found = await self._lookup.lookup(asked, self._options.default_api_timeout_ms)
        for state in states:
            partition = state.topic_partition
            answer = found.get(partition)
            if answer is None or state.generation != generations[partition]:
                continue
            _log.info("Resetting the position of %s to offset %d", partition, answer.offset)
            state.seek(answer.offset, answer.leader_epoch)

    def close(self) -> None:
        """Cancels the look-ups."""
        for task in list(self._tasks):
            task.cancel()
