"""What a plan may ask for besides ZooKeeper: requests to brokers, events, a reply, entries of logs and metrics."""

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

# Brokers


class Address(NamedTuple):
    """Where a broker listens for the controller."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class OpenChannel(Step[None]):
    """Requests to the broker have somewhere to go from now on."""

    broker: int
    address: Address


@dataclass(frozen=True, slots=True)
class CloseChannel(Step[None]):
    """The broker is gone: what was meant for it is dropped."""

    broker: int


@dataclass(frozen=True, slots=True)
class Send(Step[None]):
    """The requests of the batch, as the context is at this moment. Raises MissingListener; then nothing is sent."""

    batch: RequestBatch


def update_metadata(
    cluster: ControllerContext, brokers: Iterable[int], partitions: Iterable[TopicPartition] = ()
) -> Plan[None]:
    """Tells brokers who is alive and who leads those partitions. Raises MissingListener."""
    batch = RequestBatch(cluster)
    batch.add_update_metadata(brokers, partitions)
    yield from Send(batch)


# Events


@dataclass(frozen=True, slots=True)
class Put(Step[None]):
    """A follow-up event, behind all those that wait already."""

    event: Event


@dataclass(frozen=True, slots=True)
class PutLater(Step[None]):
    """A follow-up event after that time, in place of one put off before."""

    seconds: float
    event: Event


@dataclass(frozen=True, slots=True)
class Reply(Step[None]):
    """Whoever waits for the event that is being decided gets this."""

    outcome: object


# Logs and metrics


@dataclass(frozen=True, slots=True)
class PartitionsMoved(Step[None]):
    """For the log of state changes. before: the state each was in. detail: its leadership, or why there is none."""

    before: Mapping[Any, PartitionState]
    target: PartitionState
    detail: Mapping[Any, object]


@dataclass(frozen=True, slots=True)
class ReplicasMoved(Step[None]):
    """The same of replicas."""

    before: Mapping[Any, ReplicaState]
    target: ReplicaState


@dataclass(frozen=True, slots=True)
class CountUnclean(Step[None]):
    """So many leaders were elected from outside the in-sync set."""

    elections: int
