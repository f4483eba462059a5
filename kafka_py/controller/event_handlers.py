"""What an active controller does about each event: a table. Source: docs/reference/controller.md, section 1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kafka_py.controller import broker_changes, deletion, isr_changes, reassignment, topic_changes
from kafka_py.controller import events as happening
from kafka_py.controller import preferred_leaders as leader_balance
from kafka_py.controller.events import Event
from kafka_py.controller.term import Term

Handler = Callable[[Term, Any], Awaitable[None]]

HANDLERS: dict[type[Event], Handler] = {
    happening.BrokerChange: broker_changes.broker_change,
    happening.BrokerModifications: broker_changes.broker_modifications,
    happening.ControlledShutdown: broker_changes.controlled_shutdown,
    happening.LeaderAndIsrResponseReceived: broker_changes.leader_and_isr_response,
    happening.UpdateMetadataResponseReceived: broker_changes.update_metadata_response,
    happening.LogDirEventNotification: broker_changes.log_dir_event,
    happening.TopicChange: topic_changes.topic_change,
    happening.PartitionModifications: topic_changes.partition_modifications,
    happening.IsrChangeNotification: isr_changes.isr_change,
    happening.AlterIsrReceived: isr_changes.alter_isr,
    happening.UncleanLeaderElectionEnable: topic_changes.unclean_enabled,
    happening.TopicUncleanLeaderElectionEnable: topic_changes.topic_unclean_enabled,
    happening.TopicDeletion: deletion.topic_deletion,
    happening.TopicDeletionStopReplicaResponseReceived: deletion.stop_replica_response,
    happening.AutoPreferredReplicaLeaderElection: leader_balance.balance_leaders,
    happening.ZkReplicaLeaderElection: leader_balance.zk_replica_leader_election,
    happening.ReplicaLeaderElection: leader_balance.replica_leader_election,
    happening.ZkPartitionReassignment: reassignment.zk_partition_reassignment,
    happening.ApiPartitionReassignment: reassignment.api_partition_reassignment,
    happening.PartitionReassignmentIsrChange: reassignment.partition_reassignment_isr_change,
    happening.ListPartitionReassignments: reassignment.list_partition_reassignments,
}
"""The events of the controller's own election are not among them: they are methods of Controller."""
