"""What has become of each replica of a plan, and which of them move next: pure functions over one look.

What other users do meanwhile is left alone: a replica that is elsewhere, or that is moved elsewhere, has failed for
this plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_py.clients.admin.log_dirs import LogDirDescription
from kafka_py.operations.directories.look_input import ReplicaPlace
from kafka_py.operations.directories.model import DirectoryMove
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.plan_file import StepState


class MoveVerdict(NamedTuple):
    """How far one replica is. is_moving: it is on its way to the directory of the plan. reason: why it failed."""

    state: StepState
    is_moving: bool = False
    reason: str = ""


WAITING = MoveVerdict(StepState.PENDING)


def verdict_of(
    move: DirectoryMove, place: ReplicaPlace, directories: Mapping[str, LogDirDescription] | None
) -> MoveVerdict:
    """directories: of its broker; None if the broker was not seen. A replica that is nowhere is GONE."""
    if directories is None:
        return WAITING
    if place.future not in (None, move.target):
        return _failed(f"another move takes it to {place.future}")
    if place.current == move.target:
        return MoveVerdict(StepState.DONE)
    for path in (move.source, move.target):
        directory = directories.get(path)
        if directory is None or directory.error is not None:
            return _failed(f"the log directory {path} is {'not there' if directory is None else 'offline'}")
    if place.future is not None:
        return MoveVerdict(StepState.PENDING, is_moving=True)
    if place.current is None:
        return MoveVerdict(StepState.GONE)
    if place.current != move.source:
        return _failed(f"it is in {place.current} now, and was in {move.source} when the plan was made")
    return WAITING


def _failed(reason: str) -> MoveVerdict:
    return MoveVerdict(StepState.FAILED, reason=reason)


def next_moves(pending: Sequence[DirectoryMove], limits: BatchLimits) -> list[DirectoryMove]:
    """What moves next: brokers and their directories take turns, so that all disks have some of the work."""
    queues: dict[tuple[int, str], deque[DirectoryMove]] = {}
    for move in pending:
        queues.setdefault((move.replica.broker, move.target), deque()).append(move)
    turns = deque(queues[key] for key in sorted(queues))
    batch: list[DirectoryMove] = []
    moved_bytes = 0
    while turns and len(batch) < limits.partitions:
        queue = turns.popleft()
        if batch and moved_bytes + queue[0].size_bytes > limits.moved_bytes:
            continue
        move = queue.popleft()
        batch.append(move)
        moved_bytes += move.size_bytes
        if queue:
            turns.append(queue)
    return batch
