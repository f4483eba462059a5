"""The steps of a plan other than those for ZooKeeper: requests to brokers, events, replies, logs and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.batch import RequestBatch
from kafka_py.controller.decisions.plan import Plan, Step
from kafka_py.controller.events import Event
from kafka_py.controller.model.controller_context import ControllerContext
from kafka_py.controller.model.partition_states import PartitionState
from kafka_py.controller.model.replica_states import ReplicaState

# ---- brokers


class Address(NamedTuple):
    """The address of a broker's listener for the controller."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class OpenChannel(Step[None]):
    """Opens the channel for requests to a broker."""

    broker: int
    address: Address


@dataclass(frozen=True, slots=True)
class CloseChannel(Step[None]):
    """Closes the channel to a broker; queued requests are dropped."""

    broker: int


@dataclass(frozen=True, slots=True)
class Send(Step[None]):
    """Sends the requests of the batch, made from the present context. Raises MissingListener; then nothing is sent."""

    batch: RequestBatch


def update_metadata(
    cluster: ControllerContext, brokers: Iterable[int], partitions: Iterable[TopicPartition] = ()
) -> Plan[None]:
    """Sends UpdateMetadata with the live brokers and the leaders of those partitions. Raises MissingListener."""
    batch = RequestBatch(cluster)
    batch.add_update_metadata(brokers, partitions)
    yield from Send(batch)


# ---- events


@dataclass(frozen=True, slots=True)
class Put(Step[None]):
    """Appends a follow-up event to the queue."""

    event: Event


@dataclass(frozen=True, slots=True)
class PutLater(Step[None]):
    """Appends an event to the queue after a delay; replaces an earlier delayed event."""

    seconds: float
    event: Event


@dataclass(frozen=True, slots=True)
class ReplyToCaller(Step[None]):
    """Completes the future of the caller that waits for the present event."""

    outcome: object


# ---- logs and metrics


@dataclass(frozen=True, slots=True)
class PartitionsMoved(Step[None]):
    """For the state change log. before: the previous states. detail: the leadership, or why there is none."""

    before: Mapping[Any, PartitionState]
    target: PartitionState
    detail: Mapping[Any, object]


@dataclass(frozen=True, slots=True)
class ReplicasMoved(Step[None]):
    """The same for replicas."""

    before: Mapping[Any, ReplicaState]
    target: ReplicaState


@dataclass(frozen=True, slots=True)
class CountUnclean(Step[None]):
    """Counts leaders that were elected from outside the in-sync set."""

    elections: int
