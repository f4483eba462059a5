"""What a broker does that has just become controller, in this order (I/O).

Source: docs/reference/controller.md, section 2.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka_py.base.texts import listed
from kafka_py.base.turns import sliced
from kafka_py.controller import preferred_leaders as leader_balance
from kafka_py.controller.broker_changes import watch_brokers
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import Replica
from kafka_py.zk.admin import FEATURES_DISABLED, FEATURES_ENABLED

if TYPE_CHECKING:
    from kafka_py.controller.term import Term

log = logging.getLogger(__name__)


async def take_office(term: Term) -> None:
    """Reads the whole cluster, then puts right whatever the former controller left undone.

    Raises whatever went wrong; the caller then lets another broker try.
    """
    await term.store.admin.ensure_features(FEATURES_ENABLED if term.version.has_features else FEATURES_DISABLED)
    await term.store.admin.preferred_elections(term.watches.preferred_elections)
    await term.store.admin.reassignments(term.watches.reassignments)
    await _drop_old_notifications(term)
    await _load_cluster(term)
    await term.deletion.load()
    # Brokers must know who is alive before they are told whom to follow.
    await term.update_metadata(term.cluster.brokers)
    await _start_replicas(term)
    await _start_partitions(term)
    await term.reassignments.load()
    await term.deletion.resume()
    await leader_balance.elect_from_znode(term, await leader_balance.pending_elections(term))
    leader_balance.schedule_balance(term)


async def _drop_old_notifications(term: Term) -> None:
    """All of what they announce is about to be read anyway."""
    events = await term.store.notifications.log_dir_events(term.watches.log_dir_events)
    await term.store.notifications.delete_log_dir_events(events, term.epoch_zk_version)
    changes = await term.store.notifications.isr_changes(term.watches.isr_changes)
    await term.store.notifications.delete_isr_changes(changes, term.epoch_zk_version)


async def _load_cluster(term: Term) -> None:
    cluster = term.cluster
    cluster.brokers.update(await term.store.brokers.all(term.watches.brokers))
    topics = sorted(await term.store.topics.names(term.watches.topics))
    partitions = await term.add_topics(await term.read_assignments(topics))
    cluster.reassigning.update(p for p in partitions if cluster.assignment(p).is_being_reassigned)
    await watch_brokers(term, cluster.brokers)
    await term.leaderships.refresh(partitions)
    for broker in cluster.brokers.values():
        term.channels.add(broker.id, term.address_of(broker))
    brokers = listed(sorted(cluster.brokers))
    log.info("Brokers %s, %d topics, %d partitions", brokers, len(cluster.topics), len(partitions))


async def _start_replicas(term: Term) -> None:
    """First states by who is there, then everybody is told his part."""
    cluster = term.cluster
    online: list[Replica] = []
    offline: list[Replica] = []
    async for some in sliced(list(cluster.replicas())):
        for replica in some:
            is_online = cluster.is_online(replica.broker, replica.topic_partition)
            state = replica_states.ONLINE if is_online else replica_states.DELETION_INELIGIBLE
            cluster.set_replica_state(replica, state)
            (online if is_online else offline).append(replica)
    await term.transitions.replicas(online, replica_states.ONLINE)
    await term.transitions.replicas(offline, replica_states.OFFLINE)


async def _start_partitions(term: Term) -> None:
    """First states by whether the leader is there, then elections where it is not."""
    cluster = term.cluster
    async for some in sliced(list(cluster.partitions())):
        for partition in some:
            leadership = cluster.leadership(partition)
            if leadership is None:
                state = partition_states.NEW
            elif cluster.is_online(leadership.leader, partition):
                state = partition_states.ONLINE
            else:
                state = partition_states.OFFLINE
            cluster.set_partition_state(partition, state)
    await term.transitions.bring_online()
