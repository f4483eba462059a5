"""Topics that appear, grow or vanish in ZooKeeper, and unclean elections that are allowed from now on.

Handlers of events (I/O). Source: docs/reference/controller.md, sections 1 and 6.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_py.base.ids import TopicPartition
from kafka_py.base.texts import listed
from kafka_py.controller.events import (
    PartitionModifications,
    TopicChange,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
)
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import Assignment, Replica
from kafka_py.zk.schema import MalformedZNode

if TYPE_CHECKING:
    from kafka_py.controller.term import Term

log = logging.getLogger(__name__)


async def topic_change(term: Term, _event: TopicChange) -> None:
    """Znodes of topics were made, by whomever, or removed."""
    cluster = term.cluster
    present = await term.store.topics.names(term.watches.topics)
    new = sorted(present - cluster.topics)
    gone = sorted(cluster.topics - present)
    assignments = await term.read_assignments(new)
    for topic in gone:
        cluster.remove_topic(topic)
        term.watches.forget_topic(topic)
    if new or gone:
        log.info("New topics: %s, deleted topics: %s", listed(new), listed(gone))
    await start_partitions(term, await term.add_topics(assignments))


async def partition_modifications(term: Term, event: PartitionModifications) -> None:
    """A topic's znode was rewritten: partitions that it did not have are new, all other changes are ignored."""
    topic, cluster = event.topic, term.cluster
    try:
        found = await term.store.topics.assignment(topic, term.watches.topic(topic))
    except MalformedZNode as error:
        log.error("The change of topic %s is ignored: %s", topic, error)
        return
    if found is None or topic not in cluster.topics:
        return
    known = cluster.topic_assignment(topic)
    added = {number: Assignment(*row) for number, row in found.partitions.items() if number not in known}
    if not added:
        return
    if topic in cluster.queued:
        log.error("Topic %s is being deleted and cannot grow; the new partitions are taken out again", topic)
        await term.keep_partitions(topic, await term.store.topics.partitions_with_state(topic))
        return
    for number, assignment in added.items():
        cluster.set_assignment(TopicPartition(topic, number), assignment)
    await start_partitions(term, [TopicPartition(topic, number) for number in added])


async def start_partitions(term: Term, partitions: Collection[TopicPartition]) -> None:
    """New partitions get their first leader, their replicas begin."""
    replicas = [Replica(*one, broker) for one in partitions for broker in term.cluster.assignment(one).replicas]
    await term.transitions.partitions(partitions, partition_states.NEW)
    await term.transitions.replicas(replicas, replica_states.NEW)
    await term.transitions.partitions(partitions, partition_states.ONLINE)
    await term.transitions.replicas(replicas, replica_states.ONLINE)


async def unclean_enabled(term: Term, _event: UncleanLeaderElectionEnable) -> None:
    """Partitions that no replica in sync could lead may find a leader now."""
    await term.transitions.bring_online()


async def topic_unclean_enabled(term: Term, event: TopicUncleanLeaderElectionEnable) -> None:
    """The same for one topic."""
    await term.transitions.bring_online(event.topic)
