"""Moves replicas between the log directories of this broker: copies to the future log until it can take over (I/O).

One partition at a time, in pieces, so that other work runs on the loop in between. The one with the fewest bytes left
comes first and is copied to its end, so that a small log does not wait for a large one. (Apache Kafka 2.8.2 takes them
by name.) The current log serves all requests until both logs have the same end offset; then the future log replaces it
within one turn of the loop. A move that fails is retried or dropped, and the others continue.
Source: docs/reference/log.md, section 18; KIP-113; ReplicaAlterLogDirsThread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.base.supervision import Quarantine, Supervisor
from kafka_py.log.log_manager import LogManager
from kafka_py.log.model.answers import NoDescriptorsLeft, UnexpectedAppendOffset
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.follower.truncation import FollowerLog, truncation_for
from kafka_py.replication.move_states import (
    COPYING,
    DONE,
    FAILED,
    MOVES,
    STOPPED,
    UNALIGNED,
    MoveState,
)
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.hosted import HostedPartitions
from kafka_py.replication.state.partition import Partition
from kafka_py.replication.state.throttle import Throttle

_log = logging.getLogger(__name__)

_ACTIVITY = "mover between log directories"
_LOOK_AGAIN_S = 0.1
"""How soon moves are examined again that cannot continue now: throttled, or without a file descriptor."""
_SAVING_S = 0.002
"""How soon a move is examined again that waits only for its epoch checkpoint to be written."""
_AT_ONCE = 0.0

ReadAside = Callable[[FileSlice], Awaitable[bytes]]
"""Reads a slice of a file without blocking the loop."""


class FutureLogMove:
    """One move: the future log and its state."""

    __slots__ = ("future", "state")

    def __init__(self, future: PartitionLog) -> None:
        self.future = future
        self.state = UNALIGNED

    def become(self, state: MoveState) -> None:
        """Changes the state. Raises IllegalMove."""
        self.state = MOVES.after(self.state, state)


class LogDirMover:
    """The moves in progress.

    moving: by partition; each is UNALIGNED or COPYING. failed: partitions whose move was dropped until it is requested
    again.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        log_dirs: LogManager,
        *,
        options: Callable[[], ReplicationOptions],
        throttle: Throttle,
        wall_ms: Callable[[], int],
        read_aside: ReadAside,
        supervisor: Supervisor,
    ) -> None:
        self.moving: dict[TopicPartition, FutureLogMove] = {}
        self.failed: set[TopicPartition] = set()
        self.throttle = throttle
        self._hosted = hosted
        self._log_dirs = log_dirs
        self._options = options
        self._wall_ms = wall_ms
        self._read_aside = read_aside
        self._supervisor = supervisor
        self._waiting: Quarantine[TopicPartition] = supervisor.quarantine(_ACTIVITY)
        self._truncated: set[TopicPartition] = set()
        """Partitions whose current log was truncated since the piece that is being copied was looked up."""
        self._current: TopicPartition | None = None
        self._task: asyncio.Task[None] | None = None

    # ---- moves

    def move(self, topic_partition: TopicPartition, directory: str) -> None:
        """Starts to move a hosted partition; another move of it is cancelled first.

        Does nothing if its log is in that directory already. Raises KafkaError(LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR).
        """
        present = self._log_dirs.get(topic_partition)
        future = self._log_dirs.futures.get(topic_partition)
        if future is not None and future.log_dir != directory:
            self.stop([topic_partition])
            self._log_dirs.futures.drop(topic_partition)
            future = None
        if present is None or present.log_dir == directory:
            return
        if future is None:
            self._log_dirs.futures.create(topic_partition, directory)
        self.resume([topic_partition])

    def resume(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Continues the moves of these partitions, if there are any, after the partitions got their roles."""
        for topic_partition in topic_partitions:
            future = self._log_dirs.futures.get(topic_partition)
            partition = self._hosted.partitions.get(topic_partition)
            if future is None or partition is None or partition.log is None:
                continue
            self.failed.discard(topic_partition)
            self._waiting.release(topic_partition)
            former = self.moving.get(topic_partition)
            if former is None or former.future is not future:
                self._end(topic_partition, STOPPED)
                move = self.moving[topic_partition] = FutureLogMove(future)
                try:
                    self._log_dirs.futures.resume(topic_partition)
                    self._align(move, partition.log)
                except Exception as error:
                    self._handle_exception(topic_partition, error)
        if self.moving and (self._task is None or self._task.done()):
            self._task = self._supervisor.loop(self._round, _ACTIVITY, until=lambda: not self.moving)

    def stop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stops these moves; their future logs are kept."""
        for topic_partition in topic_partitions:
            self._end(topic_partition, STOPPED)
            self.failed.discard(topic_partition)
            self._waiting.release(topic_partition)

    def _end(self, topic_partition: TopicPartition, state: MoveState) -> None:
        move = self.moving.pop(topic_partition, None)
        if move is not None:
            move.become(state)

    def truncated(self, topic_partition: TopicPartition) -> None:
        """Truncates the future log as well after a truncation of the current one, and discards the copied piece."""
        self._truncated.add(topic_partition)
        present, future = self._log_dirs.get(topic_partition), self._log_dirs.futures.get(topic_partition)
        if present is None or future is None or future.log_end_offset <= present.log_end_offset:
            return
        try:
            future.truncate_to(present.log_end_offset)
        except Exception as error:  # fails the move, not the follower that truncated the current log
            move = self.moving.get(topic_partition)
            if move is not None:
                move.become(UNALIGNED)
            self._handle_exception(topic_partition, error)

    async def close(self) -> None:
        self.stop(list(self.moving))
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def max_lag(self) -> int:
        """The largest lag of a move, in records."""
        pairs = [(self._log_dirs.get(topic_partition), move.future) for topic_partition, move in self.moving.items()]
        return max((one.log_end_offset - future.log_end_offset for one, future in pairs if one is not None), default=0)

    # ---- copying

    async def _round(self) -> None:
        """Copies one piece for the first move that can continue; pauses if none can."""
        pause_s = _LOOK_AGAIN_S
        for topic_partition in self._in_order():
            try:
                pause_s = await self._step(topic_partition, self.moving[topic_partition])
            except Exception as error:
                self._handle_exception(topic_partition, error)
                continue
            if pause_s < _LOOK_AGAIN_S:
                self._current = topic_partition
                break
        await asyncio.sleep(pause_s)

    def _in_order(self) -> Iterator[TopicPartition]:
        """The move in progress, then the others that are not set aside, the one with the fewest bytes left first."""
        current = self._current
        if current in self.moving and not self._waiting.is_aside(current):
            yield current
        others = self._waiting.ready(one for one in self.moving if one != current)
        for topic_partition in sorted(others, key=lambda one: (self._bytes_left(one), one)):
            if topic_partition in self.moving:
                yield topic_partition

    def _bytes_left(self, topic_partition: TopicPartition) -> int:
        present = self._log_dirs.get(topic_partition)
        return 0 if present is None else present.size_bytes - self.moving[topic_partition].future.size_bytes

    def _handle_exception(self, topic_partition: TopicPartition, error: Exception) -> None:
        """Retries a move later that lacks a file descriptor, and drops it after any other exception."""
        if isinstance(error, NoDescriptorsLeft):
            _log.warning("The move of %s is retried later: %s", topic_partition, error)
            self._waiting.set_aside(topic_partition, error)
            return
        if not isinstance(error, KafkaError | UnexpectedAppendOffset | OSError):
            self._supervisor.report(_ACTIVITY, error, topic_partition)
        _log.warning("The move of %s between log directories is dropped: %s", topic_partition, error)
        self._end(topic_partition, FAILED)
        self.failed.add(topic_partition)

    async def _step(self, topic_partition: TopicPartition, move: FutureLogMove) -> float:
        """Copies one piece; after the last one the future log takes over. Returns seconds to wait before the next."""
        future = move.future
        partition = self._hosted.partitions.get(topic_partition)
        present = partition.log if partition is not None else None
        if partition is None or present is None:
            self.stop([topic_partition])
            return _AT_ONCE
        if move.state is UNALIGNED:
            self._align(move, present)
        if self._finish(partition, present, move):
            return _AT_ONCE
        if future.log_end_offset == present.log_end_offset:  # its epoch checkpoint is not written yet
            return _LOOK_AGAIN_S if future.files.save_again() else _SAVING_S
        if self.throttle.is_exceeded_for(topic_partition):
            return _LOOK_AGAIN_S
        if future.log_end_offset < present.log_start_offset:
            future.truncate_fully_and_start_at(present.log_start_offset)
        offset = future.log_end_offset
        size = self._options().replica_fetch_max_bytes
        piece = present.read(offset, size, up_to_offset=present.log_end_offset, min_one_batch=True)
        if piece.slice is None:  # after a truncation inside a batch the log ends past its last batch
            return _LOOK_AGAIN_S
        self._truncated.clear()
        # The last piece is in the page cache, as it was just written; and no append may come before the take-over.
        records = piece.slice.read() if piece.size < size else await self._read_aside(piece.slice)
        is_current = move.state is COPYING and partition.log is present
        if not is_current or topic_partition in self._truncated or future.log_end_offset != offset:
            return _AT_ONCE  # stopped or truncated meanwhile
        self._append(future, records, present, topic_partition)
        self._waiting.release(topic_partition)
        self._finish(partition, present, move)
        return _AT_ONCE

    def _append(
        self, future: PartitionLog, records: bytes, present: PartitionLog, topic_partition: TopicPartition
    ) -> None:
        info = future.append_as_follower(memoryview(records), self._wall_ms(), present.log_start_offset)
        self.throttle.record(topic_partition, info.size_bytes)
        if info.flush_due:
            future.flush_in_background()
        if future.log_end_offset > present.log_end_offset:  # the current log was truncated while the piece was read
            future.truncate_to(present.log_end_offset)
        future.update_high_watermark(present.high_watermark)
        if present.log_start_offset > future.log_start_offset:
            future.advance_log_start_offset(min(present.log_start_offset, future.high_watermark))

    def _finish(self, partition: Partition, present: PartitionLog, move: FutureLogMove) -> bool:
        """Lets the future log take over if it has all records; synchronous, so that no append comes in between."""
        future = move.future
        if future.log_end_offset != present.log_end_offset:
            return False
        for start in present.epochs.entries():  # the epoch of a leader that appended no records is in no batch
            if start.epoch > future.epochs.latest:
                future.assign_epoch(*start)
        if not future.files.can_move:
            return False
        del self.moving[partition.topic_partition]
        partition.replace_log(self._log_dirs.futures.promote(partition.topic_partition))
        move.become(DONE)
        return True

    def _align(self, move: FutureLogMove, present: PartitionLog) -> None:
        """Truncates a future log from an earlier epoch to the records that it shares with the current log."""
        future = move.future

        def end_of_epoch(epoch: int) -> EpochEnd:
            return future.epochs.end_offset_for(epoch, future.log_end_offset)

        complete = future.epochs.latest < 0
        if complete:
            future.truncate_to(future.high_watermark)
        while not complete:
            current_end = present.epochs.end_offset_for(future.epochs.latest, present.log_end_offset)
            own = FollowerLog(future.log_end_offset, future.high_watermark, end_of_epoch)
            offset, complete = truncation_for(current_end, own)
            future.truncate_to(offset)
            complete = complete or future.epochs.latest < 0
        if future.log_end_offset > present.log_end_offset:
            future.truncate_to(present.log_end_offset)
        move.become(COPYING)
