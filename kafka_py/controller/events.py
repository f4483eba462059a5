"""What can happen to a controller: values that say what each event is about.

What is done about each is in the table of machine.py; how they wait for their turn is event_queue.py's.
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
    """What the controller is busy with; the number is the gauge ControllerState."""

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
    """Something that happened. Events differ from each other even when they say the same."""

    state: ClassVar[ControllerState]


@dataclass(frozen=True, eq=False)
class Asked(Event):
    """An event that somebody waits for: the outcome goes to whoever asked, an error of the processing as well.

    if_not_controller: with what it is refused where this broker is not the active controller, or is no longer.
    """

    if_not_controller: ClassVar[ErrorCode] = ErrorCode.NOT_CONTROLLER


# Elections of the controller itself


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
    """`/controller` is gone."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class RegisterBrokerAndReelect(Event):
    """A new ZooKeeper session has taken the place of an expired one."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class Expire(Event):
    """The ZooKeeper session has expired and is about to be replaced."""

    state = ControllerState.CONTROLLER_CHANGE


@dataclass(frozen=True, eq=False)
class ShutdownEventThread(Event):
    """The broker stops: the last event of all."""

    state = ControllerState.CONTROLLER_SHUTDOWN


# Brokers


@dataclass(frozen=True, eq=False)
class BrokerChange(Event):
    """A registration was made or has vanished."""

    state = ControllerState.BROKER_CHANGE


@dataclass(frozen=True, eq=False)
class BrokerModifications(Event):
    """A registration was rewritten, as when advertised listeners change."""

    state = ControllerState.BROKER_CHANGE
    broker: int


@dataclass(frozen=True, eq=False)
class ControlledShutdown(Asked):
    """A broker is about to go down and wants its partitions led elsewhere. Answer: set of partitions it still leads.

    broker_epoch: -1 when the request is too old to carry one.
    """

    state = ControllerState.CONTROLLED_SHUTDOWN
    if_not_controller = ErrorCode.STALE_CONTROLLER_EPOCH
    broker: int
    broker_epoch: int = -1


@dataclass(frozen=True, eq=False)
class LeaderAndIsrResponseReceived(Event):
    """A broker answered LeaderAndIsr."""

    state = ControllerState.LEADER_AND_ISR_RESPONSE_RECEIVED
    response: LeaderAndIsrResponse
    broker: int


@dataclass(frozen=True, eq=False)
class UpdateMetadataResponseReceived(Event):
    """A broker answered UpdateMetadata."""

    state = ControllerState.UPDATE_METADATA_RESPONSE_RECEIVED
    error_code: int
    broker: int


@dataclass(frozen=True, eq=False)
class LogDirEventNotification(Event):
    """A broker reported a failed log directory."""

    state = ControllerState.LOG_DIR_CHANGE


# Topics


@dataclass(frozen=True, eq=False)
class TopicChange(Event):
    """A topic's znode was made or has vanished."""

    state = ControllerState.TOPIC_CHANGE


@dataclass(frozen=True, eq=False)
class PartitionModifications(Event):
    """A topic's znode was rewritten: perhaps it has more partitions now."""

    state = ControllerState.TOPIC_CHANGE
    topic: str


@dataclass(frozen=True, eq=False)
class TopicDeletion(Event):
    """Somebody wants topics deleted."""

    state = ControllerState.TOPIC_DELETION


@dataclass(frozen=True, eq=False)
class TopicDeletionStopReplicaResponseReceived(Event):
    """A broker answered StopReplica for partitions to delete.

    error_code: of the whole request. partition_errors: code of each partition of a topic in deletion.
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
    """An in-sync set as a leader wants it. leader_epoch, zk_version: of the leadership that the leader knows."""

    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int


@dataclass(frozen=True, eq=False)
class AlterIsrReceived(Asked):
    """A leader of protocol version 2.7 or later asks for other in-sync sets (KIP-497).

    Answer: partition -> the Leadership it has now, or the KafkaError the change was refused with.
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


# Elections and reassignments on request


@dataclass(frozen=True, eq=False)
class AutoPreferredReplicaLeaderElection(Event):
    """Time to look whether too many partitions are led by others than their preferred replica."""

    state = ControllerState.AUTO_LEADER_BALANCE


@dataclass(frozen=True, eq=False)
class ZkReplicaLeaderElection(Event):
    """`/admin/preferred_replica_election` was made, or may be there again."""

    state = ControllerState.MANUAL_LEADER_BALANCE


@dataclass(frozen=True, eq=False)
class ReplicaLeaderElection(Asked):
    """ElectLeaders. Answer: partition -> the elected leader, or the KafkaError it failed with.

    partitions: None for all of the cluster.
    """

    state = ControllerState.MANUAL_LEADER_BALANCE
    partitions: Sequence[TopicPartition] | None
    type: ElectionType


@dataclass(frozen=True, eq=False)
class ZkPartitionReassignment(Event):
    """`/admin/reassign_partitions` was made, or may be there again."""

    state = ControllerState.ALTER_PARTITION_REASSIGNMENT


@dataclass(frozen=True, eq=False)
class ApiPartitionReassignment(Asked):
    """AlterPartitionReassignments. Answer: partition -> None, or the KafkaError it was refused with.

    targets: the wanted replicas of each partition; None cancels.
    """

    state = ControllerState.ALTER_PARTITION_REASSIGNMENT
    targets: Mapping[TopicPartition, Sequence[int] | None]


@dataclass(frozen=True, eq=False)
class PartitionReassignmentIsrChange(Event):
    """The state of a partition that is being reassigned has changed: perhaps the new replicas have caught up."""

    state = ControllerState.ALTER_PARTITION_REASSIGNMENT
    partition: TopicPartition


@dataclass(frozen=True, eq=False)
class ListPartitionReassignments(Asked):
    """Answer: partition -> Assignment, for those being reassigned. partitions: None for all of the cluster."""

    state = ControllerState.LIST_PARTITION_REASSIGNMENT
    partitions: Sequence[TopicPartition] | None
