"""In-sync sets that partition leaders change: by themselves in ZooKeeper, or by asking the controller (KIP-497).

Handlers of events (I/O). Our own brokers write to ZooKeeper; Apache brokers whose inter-broker protocol is 2.7 or
later ask. Source: docs/reference/controller.md, sections 1 and 13; docs/reference/zookeeper.md, section 11.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.events import AlterIsrReceived, IsrChangeNotification, IsrProposal
from kafka_py.controller.model.controller_context import Leadership

if TYPE_CHECKING:
    from kafka_py.controller.term import Term

log = logging.getLogger(__name__)

IsrAnswers = dict[TopicPartition, Leadership | KafkaError]
"""Per partition what holds now, or why nothing was changed."""


async def isr_change(term: Term, _event: IsrChangeNotification) -> None:
    """Leaders have changed in-sync sets in ZooKeeper; they are read again, and the notes removed."""
    names = await term.store.notifications.isr_changes(term.watches.isr_changes)
    try:
        listed = await term.store.notifications.read_isr_changes(names)
        changed = [partition for partition in sorted(listed) if term.cluster.assignment(partition).replicas]
        if changed:
            await term.leaderships.refresh(changed)
            await _announce(term, changed)
    finally:
        await term.store.notifications.delete_isr_changes(names, term.epoch_zk_version)


async def alter_isr(term: Term, event: AlterIsrReceived) -> None:
    """Writes in-sync sets for a leader that does not do it itself."""
    registered = term.cluster.brokers.get(event.broker)
    if registered is None or registered.epoch != event.broker_epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"broker {event.broker} is not there with that epoch")
    answers: IsrAnswers = {}
    to_write: dict[TopicPartition, Leadership] = {}
    for partition, proposal in event.proposals.items():
        known = term.cluster.leadership(partition)
        if known is None:
            answers[partition] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{partition} does not exist")
        elif proposal.leader_epoch < known.leader_epoch:
            detail = f"{partition} is in leader epoch {known.leader_epoch}, not {proposal.leader_epoch}"
            answers[partition] = KafkaError(ErrorCode.FENCED_LEADER_EPOCH, detail)
        elif _proposed(term, event.broker, proposal)[:3] == known[:3]:
            answers[partition] = known
        else:
            to_write[partition] = _proposed(term, event.broker, proposal)
    written = await term.store.partitions.update_states(to_write, term.epoch_zk_version)
    for partition in written.conflicts:
        answers[partition] = KafkaError(ErrorCode.INVALID_UPDATE_VERSION, f"{partition} was changed meanwhile")
    for partition, error in written.failed.items():
        answers[partition] = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{partition}: {error}")
    for partition, leadership in written.updated.items():
        answers[partition] = leadership
        term.cluster.set_leadership(partition, leadership)
    event.reply(answers)
    if written.updated:
        await _announce(term, written.updated)


def _proposed(term: Term, leader: int, proposal: IsrProposal) -> Leadership:
    return Leadership(leader, proposal.leader_epoch, tuple(proposal.isr), term.epoch, proposal.zk_version)


async def _announce(term: Term, partitions: Collection[TopicPartition]) -> None:
    """Everybody is told; reassignments that waited for a replica to catch up go on."""
    await term.update_metadata(term.cluster.brokers, partitions)
    for partition in partitions:
        await term.reassignments.maybe_complete(partition)
