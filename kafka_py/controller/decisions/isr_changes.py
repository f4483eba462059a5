"""In-sync sets changed by partition leaders: written to ZooKeeper by them, or requested with AlterIsr (KIP-497).

This broker's leaders write to ZooKeeper; brokers of Apache Kafka with inter-broker protocol 2.7 or later use AlterIsr.
Source: docs/reference/controller.md, sections 1 and 13; docs/reference/zookeeper.md, section 11.
"""

from __future__ import annotations

from collections.abc import Collection

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.decisions.batch import RequestBatch
from kafka_py.controller.decisions.leaderships import bump_epochs, refresh
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.plan import Plan
from kafka_py.controller.decisions.reassignment import maybe_complete
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import ReplyToCaller, Send, update_metadata
from kafka_py.controller.decisions.znode_steps import (
    DeleteIsrChanges,
    ListIsrChanges,
    ReadIsrChanges,
    UpdateLeaderships,
)
from kafka_py.controller.events import AlterIsrReceived, IsrChangeNotification, IsrProposal
from kafka_py.controller.model.controller_context import ControllerContext, Leadership
from kafka_py.zk.partitions import StateUpdates

notes = LogLines(__name__)

IsrAnswers = dict[TopicPartition, Leadership | KafkaError]
"""Per partition the present leadership, or the error."""


def isr_change(cluster: ControllerContext, _event: IsrChangeNotification, _settings: Settings) -> Plan[None]:
    """Reads in-sync sets that leaders have changed in ZooKeeper, and deletes the notifications."""
    names = yield from ListIsrChanges()
    try:
        listed = yield from ReadIsrChanges(names)
        changed = [partition for partition in sorted(listed) if cluster.assignment(partition).replicas]
        if changed:
            overwritten = yield from refresh(cluster, changed)
            yield from _restore(cluster, [one for one in overwritten if one.topic not in cluster.queued])
            yield from _announce(cluster, changed)
    finally:
        yield from DeleteIsrChanges(names)


def _restore(cluster: ControllerContext, partitions: Collection[TopicPartition]) -> Plan[None]:
    """Writes the leaders again over which former leaders wrote (leaderships.py), and sends LeaderAndIsr."""
    outcomes = yield from bump_epochs(cluster, partitions)
    batch = RequestBatch(cluster)
    for partition, outcome in outcomes.items():
        if isinstance(outcome, Exception):
            yield from notes.error("The leader of %s, over which another wrote, was not written again: %s",
                                   partition, outcome)  # fmt: skip
            continue
        yield from notes.warning("A former leader wrote over the state of %s; it is again %s", partition, outcome)
        assignment = cluster.assignment(partition)
        recipients = cluster.online(partition, assignment.replicas)
        batch.add_leader_and_isr(recipients, partition, outcome, assignment, is_new=False)
    if outcomes:
        yield from Send(batch)


def alter_isr(cluster: ControllerContext, event: AlterIsrReceived, _settings: Settings) -> Plan[None]:
    """Handles AlterIsr: writes in-sync sets for a leader."""
    registered = cluster.brokers.get(event.broker)
    if registered is None or registered.epoch != event.broker_epoch:
        detail = f"broker {event.broker} is not registered with broker epoch {event.broker_epoch}"
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, detail)
    answers: IsrAnswers = {}
    to_write: dict[TopicPartition, Leadership] = {}
    for partition, proposal in event.proposals.items():
        proposed = _proposed(cluster, event.broker, proposal)
        known = cluster.leadership(partition)
        refusal = _refusal_of(partition, event.broker, proposal, known)
        if refusal is not None:
            answers[partition] = refusal
        elif known is not None and proposed[:3] == known[:3]:
            answers[partition] = known
        else:
            to_write[partition] = proposed
    written = yield from UpdateLeaderships(to_write)
    for partition, leadership in written.updated.items():
        cluster.set_leadership(partition, leadership)
    yield from ReplyToCaller({**answers, **_answers_of(written)})
    if written.updated:
        yield from _announce(cluster, written.updated)


def _refusal_of(
    partition: TopicPartition, broker: int, proposal: IsrProposal, known: Leadership | None
) -> KafkaError | None:
    if known is None:
        return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{partition} does not exist")
    if proposal.leader_epoch < known.leader_epoch:
        detail = f"{partition} is in leader epoch {known.leader_epoch}, not {proposal.leader_epoch}"
        return KafkaError(ErrorCode.FENCED_LEADER_EPOCH, detail)
    if (broker, proposal.leader_epoch) != (known.leader, known.leader_epoch):  # of a topic that was created again
        detail = f"{partition} is led by {known.leader} in leader epoch {known.leader_epoch}, not by {broker}"
        return KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{detail} in {proposal.leader_epoch}")
    return None


def _proposed(cluster: ControllerContext, leader: int, proposal: IsrProposal) -> Leadership:
    return Leadership(leader, proposal.leader_epoch, tuple(proposal.isr), cluster.epoch, proposal.zk_version)


def _answers_of(written: StateUpdates) -> IsrAnswers:
    """The results for the leader."""
    answers: IsrAnswers = {}
    for partition in written.conflicts:
        answers[partition] = KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{partition} was changed meanwhile")
    for partition, error in written.failed.items():
        answers[partition] = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{partition}: {error}")
    return {**answers, **written.updated}


def _announce(cluster: ControllerContext, partitions: Collection[TopicPartition]) -> Plan[None]:
    """Sends UpdateMetadata to all brokers; continues reassignments that waited for a replica to catch up."""
    yield from update_metadata(cluster, cluster.brokers, partitions)
    for partition in partitions:
        yield from maybe_complete(cluster, partition)
