"""Topics on their way out: from the request to delete until the last replica has said that it is gone (I/O).

A topic is queued, then started (its partitions cease to exist, brokers drop it from their metadata), then complete.
It is ineligible, and waits, while a broker with one of its replicas is down, or while it is reassigned.
Source: docs/reference/controller.md, section 9.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import TYPE_CHECKING

from kafka_py.base.errors import ErrorCode
from kafka_py.base.texts import listed
from kafka_py.base.turns import sliced
from kafka_py.controller.events import TopicDeletion as TopicDeletionEvent
from kafka_py.controller.events import TopicDeletionStopReplicaResponseReceived
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import Replica
from kafka_py.zk.access import pipelined, raise_first

if TYPE_CHECKING:
    from kafka_py.controller.term import Term

log = logging.getLogger(__name__)

TOPICS_AT_ONCE = 16
"""So many topics are removed from the cluster value before others have the loop."""


class TopicDeletion:
    """The deletions of one term. The sets are the cluster's: queued, started, ineligible."""

    def __init__(self, term: Term) -> None:
        self._term = term
        self._just_made: set[str] = set()  # waited for once, so that one that never comes does not keep us busy

    @property
    def _is_enabled(self) -> bool:
        return self._term.config.delete_topic_enable

    async def load(self) -> None:
        """What a former controller left to be done; with deletion switched off, the requests are thrown away."""
        term = self._term
        topics = sorted(await term.store.topics.marked_for_deletion(term.watches.topic_deletions))
        if not self._is_enabled:
            await self._refuse(topics)
            return
        term.cluster.queue_for_deletion(topics)
        term.cluster.mark_ineligible(topic for topic in topics if self._has_offline_replica(topic))
        term.cluster.mark_ineligible(partition.topic for partition in term.cluster.reassigning)

    def _has_offline_replica(self, topic: str) -> bool:
        cluster = self._term.cluster
        return any(not cluster.is_online(r.broker, r.topic_partition) for r in cluster.replicas_of_topic(topic))

    async def _refuse(self, topics: Collection[str]) -> None:
        if topics:
            log.info("Not deleting topics %s: delete.topic.enable is false", listed(topics))
            await self._term.store.topics.unmark_for_deletion(topics, self._term.epoch_zk_version)

    async def on_request(self) -> None:
        """Somebody has asked for deletions."""
        term = self._term
        wanted = await term.store.topics.marked_for_deletion(term.watches.topic_deletions)
        unknown = wanted - term.cluster.topics
        if unknown:
            await self._refuse_missing(unknown)
        wanted -= unknown
        if not self._is_enabled:
            await self._refuse(sorted(wanted))
        elif wanted:
            # Before they are queued this marks only those that were queued already: a topic that is being
            # reassigned right now begins to be deleted all the same, as in 2.8.
            term.cluster.mark_ineligible({partition.topic for partition in term.cluster.reassigning} & wanted)
            term.cluster.queue_for_deletion(wanted)
            await self.resume()

    async def _refuse_missing(self, unknown: set[str]) -> None:
        """Topics that were made a moment ago are not missing: the event that brings them waits behind this one."""
        term = self._term
        just_made = unknown & await term.store.topics.names()
        if just_made - self._just_made:
            term.put(TopicDeletionEvent())
        self._just_made = just_made
        missing = sorted(unknown - just_made)
        if missing:
            log.warning("Not deleting topics %s: they do not exist", listed(missing))
            await term.store.topics.unmark_for_deletion(missing, term.epoch_zk_version)

    async def resume_for(self, topics: Collection[str]) -> None:
        """What these topics waited for has happened."""
        cluster = self._term.cluster
        waiting = cluster.queued.intersection(topics)
        if waiting:
            cluster.ineligible -= waiting
            await self.resume()

    async def replicas_failed(self, replicas: Collection[Replica]) -> None:
        """Replicas could not be deleted, or went down: their topics wait."""
        cluster = self._term.cluster
        failed = [replica for replica in replicas if replica.topic in cluster.queued]
        if failed and self._is_enabled:
            await self._term.transitions.replicas(failed, replica_states.DELETION_INELIGIBLE)
            cluster.mark_ineligible({replica.topic for replica in failed})
            await self.resume()

    async def replicas_deleted(self, replicas: Collection[Replica]) -> None:
        """Brokers have deleted replicas."""
        deleted = [replica for replica in replicas if replica.topic in self._term.cluster.queued]
        await self._term.transitions.replicas(deleted, replica_states.DELETION_SUCCESSFUL)
        await self.resume()

    async def resume(self) -> None:
        """Takes every queued topic as far as it can go now."""
        cluster = self._term.cluster
        done, again, begin = [], [], []
        async for some in sliced(sorted(cluster.queued)):
            for topic in some:
                states = cluster.states_of_replicas(topic)
                if states <= {replica_states.DELETION_SUCCESSFUL}:
                    done.append(topic)
                    continue
                if replica_states.DELETION_STARTED not in states:
                    if replica_states.DELETION_INELIGIBLE in states:
                        again.append(topic)
                    if topic not in cluster.ineligible:
                        begin.append(topic)
        await self._complete(done)
        if again:
            ineligible = replica_states.DELETION_INELIGIBLE
            failed = [replica for topic in again for replica in cluster.replicas_in_state(topic, ineligible)]
            await self._term.transitions.replicas(failed, replica_states.OFFLINE)
        if begin:
            await self._begin(begin)

    async def _begin(self, topics: list[str]) -> None:
        """Brokers drop the topics from their metadata, then those that are alive are told to delete replicas."""
        term, cluster, transitions = self._term, self._term.cluster, self._term.transitions
        log.info("Deleting topics %s", listed(topics))
        unseen = [topic for topic in topics if topic not in cluster.started]
        if unseen:
            partitions = [partition for topic in unseen for partition in cluster.partitions_of(topic)]
            await transitions.partitions(partitions, partition_states.OFFLINE)
            await transitions.partitions(partitions, partition_states.NON_EXISTENT)
            cluster.started.update(unseen)
        await term.update_metadata(cluster.brokers, [p for topic in topics for p in cluster.partitions_of(topic)])
        dead: list[Replica] = []
        to_delete: list[Replica] = []
        async for some in sliced([replica for topic in topics for replica in cluster.replicas_of_topic(topic)]):
            for replica in some:
                if not cluster.is_online(replica.broker, replica.topic_partition):
                    dead.append(replica)
                elif cluster.replica_state(replica) is not replica_states.DELETION_SUCCESSFUL:
                    to_delete.append(replica)
        await transitions.replicas(dead, replica_states.DELETION_INELIGIBLE)
        await transitions.replicas(to_delete, replica_states.OFFLINE)
        await transitions.replicas(to_delete, replica_states.DELETION_STARTED)
        if dead:
            cluster.mark_ineligible({replica.topic for replica in dead})

    async def _complete(self, topics: list[str]) -> None:
        """Every replica is gone: so are the znodes, and the last traces here."""
        term, cluster = self._term, self._term.cluster
        for topic in topics:
            term.watches.forget_topic(topic)
            gone = cluster.replicas_in_state(topic, replica_states.DELETION_SUCCESSFUL)
            await term.transitions.replicas(gone, replica_states.NON_EXISTENT)
        raise_first(await pipelined([term.store.topics.delete(topic, term.epoch_zk_version) for topic in topics]))
        async for some in sliced(topics, TOPICS_AT_ONCE):
            for topic in some:
                cluster.remove_topic(topic)
        if topics:
            log.info("Topics %s are deleted", listed(topics))


async def topic_deletion(term: Term, _event: TopicDeletionEvent) -> None:
    """Somebody wants topics deleted."""
    await term.deletion.on_request()


async def stop_replica_response(term: Term, event: TopicDeletionStopReplicaResponseReceived) -> None:
    """A broker has deleted replicas, or could not."""
    refused = event.error_code != ErrorCode.NONE
    failed: list[Replica] = []
    deleted: list[Replica] = []
    for partition, code in event.partition_errors.items():
        target = failed if refused or code != ErrorCode.NONE else deleted
        target.append(Replica(*partition, event.broker))
    await term.deletion.replicas_failed(failed)
    if deleted:
        await term.deletion.replicas_deleted(deleted)
