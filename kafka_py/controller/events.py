"""The events of the controller, as values.

machine.py has the table of what is done for each; event_queue.py has the queue.
Source: docs/reference/controller.md, section 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, NamedTuple

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrResponse


class ControllerState(IntEnum):
    """What the controller is doing; the number is the value of the gauge ControllerState."""

    IDLE = 0
    CONTROLLER_CHANGE = 1
    BROKER_CHANGE = 2
    TOPIC_CHANGE = 3
    TOPIC_DELETION = 4
    ALTER_PARTITION_REASSIGNMENT = 5
    AUTO_LEADER_BALANCE = 6
    MANUAL_LEADER_BALANCE = 7
    CONTROLLED_SHUTDOWN = 8
    ISR_CHANGE = 9
    LEADER_AND_ISR_RESPONSE_RECEIVED = 10
    LOG_DIR_CHANGE = 11
    CONTROLLER_SHUTDOWN = 12
    UNCLEAN_LEADER_ELECTION_ENABLE = 13
    TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE = 14
    LIST_PARTITION_REASSIGNMENT = 15
    UPDATE_METADATA_RESPONSE_RECEIVED = 16
    UPDATE_FEATURES = 17


@dataclass(frozen=True, eq=False)
class Event:
    """Base of events. Events are compared by identity."""

    state: ClassVar[ControllerState]


@dataclass(frozen=True, eq=False)
class Asked(Event):
    """An event whose caller waits for the outcome, or for the error of its processing.

    if_not_controller: the error if this broker is not, or no longer, the active controller.
    """

    if_not_controller: ClassVar[ErrorCode] = ErrorCode.NOT_CONTROLLER


# ---- elections of the controller itself


@dataclass(frozen=True, eq=False)
class Startup(Event):
    """The broker has started."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class ControllerChange(Event):
    """`/controller` was created or changed."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class Reelect(Event):
    """`/controller` was deleted."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class RegisterBrokerAndReelect(Event):
    """A new ZooKeeper session has replaced an expired one."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class Expire(Event):
    """The ZooKeeper session has expired and is about to be replaced."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class ShutdownEventThread(Event):
    """The broker stops: the last event."""

    state = ControllerState.CONTROLLER_SHUTDOWN


# ---- brokers


@dataclass(frozen=True, eq=False)
class BrokerChange(Event):
    """A broker registration was created or deleted."""

    state = ControllerState.BROKER_CHANGE


@dataclass(frozen=True, eq=False)
class BrokerModifications(Event):
    """A registration was rewritten, as when advertised listeners change."""

    state = ControllerState.BROKER_CHANGE
    broker: int


@dataclass(frozen=True, eq=False)
class ControlledShutdown(Asked):
    """ControlledShutdown of a broker. Outcome: the set of partitions that it still leads.

    broker_epoch: -1 if the version of the request has none.
    """

    state = ControllerState.CONTROLLED_SHUTDOWN
    if_not_controller = ErrorCode.STALE_CONTROLLER_EPOCH
    broker: int
    broker_epoch: int = -1


@dataclass(frozen=True, eq=False)
class LeaderAndIsrResponseReceived(Event):
    """A broker has responded to LeaderAndIsr."""

    state = ControllerState.LEADER_AND_ISR_RESPONSE_RECEIVED
    response: LeaderAndIsrResponse
    broker: int


@dataclass(frozen=True, eq=False)
class UpdateMetadataResponseReceived(Event):
    """A broker has responded to UpdateMetadata."""

    state = ControllerState.UPDATE_METADATA_RESPONSE_RECEIVED
    error_code: int
    broker: int


@dataclass(frozen=True, eq=False)
class LogDirEventNotification(Event):
    """A broker reported a failed log directory."""

    state = ControllerState.LOG_DIR_CHANGE


# ---- topics


@dataclass(frozen=True, eq=False)
class TopicChange(Event):
    """A topic znode was created or deleted."""

    state = ControllerState.TOPIC_CHANGE


@dataclass(frozen=True, eq=False)
class PartitionModifications(Event):
    """A topic znode was rewritten; the topic may have more partitions."""

    state = ControllerState.TOPIC_CHANGE
    topic: str


@dataclass(frozen=True, eq=False)
class TopicDeletion(Event):
    """/admin/delete_topics has changed."""

    state = ControllerState.TOPIC_DELETION


@dataclass(frozen=True, eq=False)
class TopicDeletionStopReplicaResponseReceived(Event):
    """A broker has responded to StopReplica with deletions.

    error_code: of the whole request. partition_errors: error code of each partition of a topic in deletion.
    """

    state = ControllerState.TOPIC_DELETION
    broker: int
    error_code: int
    partition_errors: Mapping[TopicPartition, int]


@dataclass(frozen=True, eq=False)
class IsrChangeNotification(Event):
    """Partition leaders have changed in-sync sets in ZooKeeper."""

    state = ControllerState.ISR_CHANGE


class IsrProposal(NamedTuple):
    """An in-sync set proposed by a leader. leader_epoch, zk_version: of the leadership that the leader knows."""

    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int


@dataclass(frozen=True, eq=False)
class AlterIsrReceived(Asked):
    """AlterIsr of a leader with inter-broker protocol 2.7 or later (KIP-497).

    Outcome: partition -> its present Leadership, or the KafkaError of the refusal.
    """

    state = ControllerState.ISR_CHANGE
    broker: int
    broker_epoch: int
    proposals: Mapping[TopicPartition, IsrProposal]


@dataclass(frozen=True, eq=False)
class UncleanLeaderElectionEnable(Event):
    """The cluster-wide default of `unclean.leader.election.enable` became true."""

    state = ControllerState.UNCLEAN_LEADER_ELECTION_ENABLE


@dataclass(frozen=True, eq=False)
class TopicUncleanLeaderElectionEnable(Event):
    """A topic got `unclean.leader.election.enable=true`."""

    state = ControllerState.TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE
    topic: str


# ---- elections and reassignments on request


@dataclass(frozen=True, eq=False)
class AutoPreferredReplicaLeaderElection(Event):
    """The leader balance is to be checked."""

    state = ControllerState.AUTO_LEADER_BALANCE


@dataclass(frozen=True, eq=False)
class ZkReplicaLeaderElection(Event):
    """`/admin/preferred_replica_election` was created, or may have been."""

    state = ControllerState.MANUAL_LEADER_BALANCE


@dataclass(frozen=True, eq=False)
class ReplicaLeaderElection(Asked):
    """ElectLeaders. Outcome: partition -> the elected leader, or a KafkaError.

    partitions: None for all of the cluster.
    """

    state = ControllerState.MANUAL_LEADER_BALANCE
    partitions: Sequence[TopicPartition] | None
    type: ElectionType


@dataclass(frozen=True, eq=False)
class ZkPartitionReassignment(Event):
    """`/admin/reassign_partitions` was created, or may have been."""

    state = ControllerState.ALTER_PARTITION_REASSIGNMENT


@dataclass(frozen=True, eq=False)
class ApiPartitionReassignment(Asked):
    """AlterPartitionReassignments. Outcome: partition -> None, or the KafkaError of the refusal.

    targets: the wanted replicas of each partition; None cancels.
    """

    state = ControllerState.ALTER_PARTITION_REASSIGNMENT
    targets: Mapping[TopicPartition, Sequence[int] | None]


@dataclass(frozen=True, eq=False)
class PartitionReassignmentIsrChange(Event):
    """The state of a partition that is being reassigned has changed; new replicas may be in sync."""

    state = ControllerState.ALTER_PARTITION_REASSIGNMENT
    partition: TopicPartition


@dataclass(frozen=True, eq=False)
class ListPartitionReassignments(Asked):
    """ListPartitionReassignments. partitions: None for all of the cluster.

    Outcome: partition -> PartitionAssignment, for partitions that are being reassigned.
    """

    state = ControllerState.LIST_PARTITION_REASSIGNMENT
    partitions: Sequence[TopicPartition] | None
