"""The controller's lines in the state change log: moves of partitions and replicas, and sent requests.

Formats lines only. Source: StateChangeLogger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from kafka_py.base.moves import label
from kafka_py.base.state_changes import LOG, named
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.wire.messages.stop_replica import StopReplicaRequest
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest

PARTITION = "partition"
REPLICA = "replica"


class StateChanges:
    """The state change log of one controller epoch."""

    def __init__(self, broker_id: int, epoch: int) -> None:
        self._prefix = f"[Controller id={broker_id} epoch={epoch}]"

    def moved(
        self,
        kind: str,
        before: Mapping[Any, Any],
        target: Any,
        state_of: Callable[[Any], Any],
        detail: Mapping[Any, Any],
    ) -> None:
        """Logs moves of partitions or replicas; of replicas at DEBUG only. before: the previous states.

        state_of: returns the present state. detail: more about some of them, such as the leadership.
        """
        if not LOG.isEnabledFor(logging.INFO if kind == PARTITION else logging.DEBUG):
            return
        by_state: dict[Any, list[Any]] = {}
        for subject, state in before.items():
            if state_of(subject) is target:
                by_state.setdefault(state, []).append(subject)
        for state, subjects in by_state.items():
            level = logging.INFO if kind == PARTITION else logging.DEBUG
            LOG.log(level, "%s Changed %d %ss from %s to %s: %s", self._prefix, len(subjects), kind, label(state),
                     label(target), named(subjects))  # fmt: skip
        if LOG.isEnabledFor(logging.DEBUG):
            for subject, state in before.items():
                LOG.debug("%s Changed %s %s from %s to %s with state %s", self._prefix, kind, subject, label(state),
                          label(state_of(subject)), detail.get(subject))  # fmt: skip

    def sent(self, request: ControllerRequest) -> None:
        """Logs a request that was queued for a broker."""
        if not LOG.isEnabledFor(logging.INFO):
            return
        message, broker = request.message, request.broker
        match message:
            case LeaderAndIsrRequest():
                states = [state for topic in message.topic_states for state in topic.partition_states]
                states += message.ungrouped_partition_states
                leading = sum(state.leader == broker for state in states)
                LOG.info("%s LeaderAndIsr to broker %d: it leads %d partitions and follows %d", self._prefix, broker,
                         leading, len(states) - leading)  # fmt: skip
            case UpdateMetadataRequest():
                count = len(message.ungrouped_partition_states)
                count += sum(len(topic.partition_states) for topic in message.topic_states)
                level = logging.INFO if count else logging.DEBUG
                LOG.log(level, "%s UpdateMetadata to broker %d: %d partitions", self._prefix, broker,
                        count)  # fmt: skip
            case StopReplicaRequest():
                LOG.info("%s StopReplica to broker %d: %d of the replicas are deleted", self._prefix, broker,
                         len(request.deletes))  # fmt: skip
