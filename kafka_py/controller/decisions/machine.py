"""The controller as a state machine: from an event to the plan that follows from it.

`handle` makes the plan, which changes the controller context as it proceeds; executor.py carries out its steps. Nothing
that it calls knows ZooKeeper, brokers, time or the loop. Events of the controller's own election are not handled here
but by methods of Controller. Source: docs/reference/controller.md, section 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.controller import events
from kafka_py.controller.decisions import (
    broker_changes,
    controlled_shutdown,
    deletion,
    isr_changes,
    log_dir_failures,
    preferred_leaders,
    reassignment,
    topic_changes,
)
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.plan import Plan
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.events import Event, UpdateMetadataResponseReceived
from kafka_py.controller.model.controller_context import ControllerContext
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrResponse
from kafka_py.wire.messages.stop_replica import StopReplicaResponse
from kafka_py.wire.messages.update_metadata import UpdateMetadataResponse

notes = LogLines(__name__)


def handle(cluster: ControllerContext, event: Event, settings: Settings) -> Plan[None]:
    """The plan of one event. It raises KafkaError if the event is refused as a whole, and what its steps raise."""
    return HANDLERS[type(event)](cluster, event, settings)


def event_of_reply(cluster: ControllerContext, request: ControllerRequest, response: object) -> Event | None:
    """The event that follows from a broker's response; None if there is none."""
    match response:
        case LeaderAndIsrResponse():
            return events.LeaderAndIsrResponseReceived(response, request.broker)
        case UpdateMetadataResponse():
            return UpdateMetadataResponseReceived(response.error_code, request.broker)
        case StopReplicaResponse():
            return deletion.event_of_reply(cluster, request, response)
    return None


def _update_metadata_response(
    _cluster: ControllerContext, event: UpdateMetadataResponseReceived, _settings: Settings
) -> Plan[None]:
    """Logs an error of UpdateMetadata."""
    if event.error_code != ErrorCode.NONE:
        yield from notes.error("UpdateMetadata to broker %d failed with error code %d", event.broker, event.error_code)


HANDLERS: dict[type[Event], Callable[[ControllerContext, Any, Settings], Plan[None]]] = {
    events.BrokerChange: broker_changes.broker_change,
    events.BrokerModifications: broker_changes.broker_modifications,
    events.ControlledShutdown: controlled_shutdown.controlled_shutdown,
    events.LeaderAndIsrResponseReceived: log_dir_failures.leader_and_isr_response,
    events.UpdateMetadataResponseReceived: _update_metadata_response,
    events.LogDirEventNotification: log_dir_failures.log_dir_event,
    events.TopicChange: topic_changes.topic_change,
    events.PartitionModifications: topic_changes.partition_modifications,
    events.IsrChangeNotification: isr_changes.isr_change,
    events.AlterIsrReceived: isr_changes.alter_isr,
    events.UncleanLeaderElectionEnable: topic_changes.unclean_enabled,
    events.TopicUncleanLeaderElectionEnable: topic_changes.topic_unclean_enabled,
    events.TopicDeletion: deletion.topic_deletion,
    events.TopicDeletionStopReplicaResponseReceived: deletion.stop_replica_response,
    events.AutoPreferredReplicaLeaderElection: preferred_leaders.balance_leaders,
    events.ZkReplicaLeaderElection: preferred_leaders.zk_replica_leader_election,
    events.ReplicaLeaderElection: preferred_leaders.replica_leader_election,
    events.ZkPartitionReassignment: reassignment.zk_partition_reassignment,
    events.ApiPartitionReassignment: reassignment.api_partition_reassignment,
    events.PartitionReassignmentIsrChange: reassignment.partition_reassignment_isr_change,
    events.ListPartitionReassignments: reassignment.list_partition_reassignments,
}
"""The plan of an active controller for each event."""
