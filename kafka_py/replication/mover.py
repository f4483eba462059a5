"""Moves replicas between the log directories of this broker: fills the future log until it can take over (I/O).

One partition at a time, the smallest first, in pieces, so that others have the loop in between. Until the two logs end
alike the present one serves everybody; then the future one takes its place within one turn of the loop.
Source: reference replication, section 11 (KIP-113).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.slices import FileSlice
from kafka_py.log.log_dirs import LogDirs
from kafka_py.log.partition_log import PartitionLog, UnexpectedAppendOffset
from kafka_py.replication.configs import ReplicationOptions
from kafka_py.replication.hosted import HostedPartitions
from kafka_py.replication.partition import Partition
from kafka_py.replication.reads import EpochEnd
from kafka_py.replication.throttle import Throttle
from kafka_py.replication.truncation import OwnLog, cut_after

log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 0.1
"""How soon a throttled move is looked at again."""
_SAVING_S = 0.002
"""How soon one is that only waits for the disk."""

ReadAside = Callable[[FileSlice], Awaitable[bytes]]
"""Reads a piece of a file without holding the loop up."""


class LogDirMover:
    """The moves under way.

    moving: the partitions and their future logs. failed: moves that were given up until they are asked for again.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        log_dirs: LogDirs,
        options: Callable[[], ReplicationOptions],
        throttle: Throttle,
        wall_ms: Callable[[], int],
        read_aside: ReadAside,
    ) -> None:
        self.moving: dict[TopicPartition, PartitionLog] = {}
        self.failed: set[TopicPartition] = set()
        self.throttle = throttle
        self._hosted = hosted
        self._log_dirs = log_dirs
        self._options = options
        self._wall_ms = wall_ms
        self._read_aside = read_aside
        self._task: asyncio.Task[None] | None = None

    # ---- what is moved

    def move(self, topic_partition: TopicPartition, directory: str) -> None:
        """Begins to move a hosted partition; another move of it is called off first.

        To where it lies already: nothing. Raises KafkaError(LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR).
        """
        present = self._log_dirs.get(topic_partition)
        future = self._log_dirs.get_future(topic_partition)
        if future is not None and future.log_dir != directory:
            self.stop([topic_partition])
            self._log_dirs.drop_future(topic_partition)
            future = None
        if present is None or present.log_dir == directory:
            return
        if future is None:
            self._log_dirs.create_future(topic_partition, directory)
        self.resume([topic_partition])

    def resume(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Goes on with the moves of these, if there are any: the partitions have their roles (again)."""
        for topic_partition in topic_partitions:
            future = self._log_dirs.get_future(topic_partition)
            partition = self._hosted.partitions.get(topic_partition)
            if future is None or partition is None or partition.log is None:
                continue
            self.failed.discard(topic_partition)
            if self.moving.get(topic_partition) is not future:
                self._align(partition.log, future)
                self.moving[topic_partition] = future
        if self.moving and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._run(), name="mover between log directories")

    def stop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Leaves these moves where they are."""
        for topic_partition in topic_partitions:
            self.moving.pop(topic_partition, None)
            self.failed.discard(topic_partition)

    def truncated(self, topic_partition: TopicPartition) -> None:
        """The present log was cut: the future one may not hold more."""
        present, future = self._log_dirs.get(topic_partition), self._log_dirs.get_future(topic_partition)
        if present is not None and future is not None and future.log_end_offset > present.log_end_offset:
            future.truncate_to(present.log_end_offset)

    async def close(self) -> None:
        self.moving.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def max_lag(self) -> int:
        """How many records the move furthest behind lacks."""
        pairs = [(self._log_dirs.get(topic_partition), future) for topic_partition, future in self.moving.items()]
        return max((one.log_end_offset - future.log_end_offset for one, future in pairs if one is not None), default=0)

    # ---- the work

    async def _run(self) -> None:
        while self.moving:
            topic_partition = min(self.moving)
            future = self.moving[topic_partition]
            try:
                await self._step(topic_partition, future)
            except (KafkaError, UnexpectedAppendOffset, OSError) as error:
                log.warning("The move of %s to %s is given up: %s", topic_partition, future.log_dir, error)
                self._give_up(topic_partition)
            except Exception:
                log.exception("The move of %s to %s is given up", topic_partition, future.log_dir)
                self._give_up(topic_partition)

    def _give_up(self, topic_partition: TopicPartition) -> None:
        self.moving.pop(topic_partition, None)
        self.failed.add(topic_partition)

    async def _step(self, topic_partition: TopicPartition, future: PartitionLog) -> None:
        """Copies one piece; the last one puts the future log in place."""
        partition = self._hosted.partitions.get(topic_partition)
        present = partition.log if partition is not None else None
        if partition is None or present is None:
            self.stop([topic_partition])
            return
        if self._finish(partition, present, future):
            return
        if future.log_end_offset == present.log_end_offset:  # its epochs are still on their way to the disk
            await asyncio.sleep(_SAVING_S)
            return
        if self.throttle.holds_back(topic_partition):
            await asyncio.sleep(_LOOK_AGAIN_S)
            return
        if future.log_end_offset < present.log_start_offset:
            future.truncate_fully_and_start_at(present.log_start_offset)
        offset = future.log_end_offset
        size = self._options().replica_fetch_max_bytes
        piece = present.read(offset, size, up_to_offset=present.log_end_offset, min_one_batch=True)
        if piece.slice is None:
            await asyncio.sleep(0)
            return
        # The last piece was written just now, so it is in memory; and nothing must be appended behind it meanwhile.
        records = read_slice(piece.slice) if piece.size < size else await self._read_aside(piece.slice)
        is_current = self.moving.get(topic_partition) is future and partition.log is present
        if not is_current or future.log_end_offset != offset or present.log_end_offset < offset:
            return  # stopped, or cut meanwhile
        self._append(future, records, present, topic_partition)
        self._finish(partition, present, future)

    def _append(
        self, future: PartitionLog, records: bytes, present: PartitionLog, topic_partition: TopicPartition
    ) -> None:
        info = future.append_as_follower(memoryview(records), self._wall_ms())
        self.throttle.record(topic_partition, info.size_bytes)
        if info.flush_due:
            future.flush_in_background()
        if future.log_end_offset > present.log_end_offset:  # the present log was cut while the piece was read
            future.truncate_to(present.log_end_offset)
        future.update_high_watermark(present.high_watermark)
        if present.log_start_offset > future.log_start_offset:
            future.advance_log_start_offset(min(present.log_start_offset, future.high_watermark))

    def _finish(self, partition: Partition, present: PartitionLog, future: PartitionLog) -> bool:
        """Lets the future log take over if it has all; nothing can come in between."""
        if future.log_end_offset != present.log_end_offset:
            return False
        for start in present.epoch_entries:  # a leader's epoch without records is in no batch
            if start.epoch > future.latest_epoch:
                future.assign_epoch(*start)
        if not future.can_move:
            return False
        del self.moving[partition.topic_partition]
        partition.replace_log(self._log_dirs.promote_future(partition.topic_partition))
        return True

    @staticmethod
    def _align(present: PartitionLog, future: PartitionLog) -> None:
        """Cuts a future log that was begun in another epoch to what it shares with the present one."""
        def end_of_epoch(epoch: int) -> EpochEnd:
            return EpochEnd(*future.end_offset_for_epoch(epoch))

        complete = future.latest_epoch < 0
        if complete:
            future.truncate_to(future.high_watermark)
        while not complete:
            answer = EpochEnd(*present.end_offset_for_epoch(future.latest_epoch))
            own = OwnLog(future.log_end_offset, future.high_watermark, end_of_epoch)
            offset, complete = cut_after(answer, own)
            future.truncate_to(offset)
            complete = complete or future.latest_epoch < 0
        if future.log_end_offset > present.log_end_offset:
            future.truncate_to(present.log_end_offset)


def read_slice(piece: FileSlice) -> bytes:
    """The bytes of a piece of a file. Blocks."""
    return os.pread(piece.file.fileno(), piece.size, piece.position)
