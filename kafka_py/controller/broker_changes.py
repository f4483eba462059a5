"""Brokers that come, go, come back, change their address, lose a disk or ask leave to go down.

Handlers of events (I/O). Source: docs/reference/controller.md, sections 7 and 11; KIP-380 (brokers that come back).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.texts import listed
from kafka_py.base.turns import Turn, sliced
from kafka_py.controller.batch import RequestBatch
from kafka_py.controller.events import (
    BrokerChange,
    BrokerModifications,
    ControlledShutdown,
    LeaderAndIsrResponseReceived,
    LogDirEventNotification,
    UpdateMetadataResponseReceived,
)
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import Replica
from kafka_py.controller.model.elections import Strategy
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrResponse
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.brokers import RegisteredBroker

if TYPE_CHECKING:
    from kafka_py.controller.model.controller_context import Cluster
    from kafka_py.controller.term import Term

log = logging.getLogger(__name__)

UNKNOWN_BROKER_EPOCH = -1


class Comings(NamedTuple):
    """What has become of the brokers: sorted ids. bounced: gone and back since we last looked."""

    new: list[int]
    bounced: list[int]
    dead: list[int]


def compare(known: Mapping[int, RegisteredBroker], found: Mapping[int, RegisteredBroker]) -> Comings:
    """Who came and went between two lists of registrations; a larger epoch tells a broker that came back."""
    return Comings(
        new=sorted(found.keys() - known.keys()),
        bounced=sorted(id_ for id_ in found.keys() & known.keys() if found[id_].epoch > known[id_].epoch),
        dead=sorted(known.keys() - found.keys()),
    )


async def broker_change(term: Term, _event: BrokerChange) -> None:
    """Registrations were made or have vanished."""
    cluster, channels = term.cluster, term.channels
    found = await term.store.brokers.all(term.watches.brokers)
    comings = compare(cluster.brokers, found)
    addresses = {id_: term.address_of(found[id_]) for id_ in (*comings.new, *comings.bounced)}
    if any(comings):
        log.info("New brokers: %s, bounced: %s, dead: %s", *comings)
    for id_ in comings.bounced:
        channels.remove(id_)
    for id_, address in addresses.items():
        channels.add(id_, address)
    for id_ in comings.dead:
        channels.remove(id_)
    if comings.new:
        _add(cluster, found, comings.new)
        await brokers_started(term, comings.new)
    if comings.bounced:
        _remove(cluster, comings.bounced)
        await brokers_failed(term, comings.bounced)
        _add(cluster, found, comings.bounced)
        await brokers_started(term, comings.bounced)
    if comings.dead:
        _remove(cluster, comings.dead)
        await brokers_failed(term, comings.dead)


def _add(cluster: Cluster, found: Mapping[int, RegisteredBroker], ids: Collection[int]) -> None:
    for id_ in ids:
        cluster.brokers[id_] = found[id_]


def _remove(cluster: Cluster, ids: Collection[int]) -> None:
    for id_ in ids:
        cluster.brokers.pop(id_, None)


async def brokers_started(term: Term, ids: Collection[int]) -> None:
    """New brokers learn the cluster, the others learn of them; their replicas begin, waiting partitions get leaders."""
    cluster = term.cluster
    for id_ in ids:
        cluster.offline_dirs.pop(id_, None)
    await term.update_metadata(cluster.brokers.keys() - set(ids))
    await term.update_metadata(ids, cluster.partitions_with_leadership())
    replicas = cluster.replicas_on(ids)
    await term.transitions.replicas(replicas, replica_states.ONLINE)
    await term.transitions.bring_online()
    await term.reassignments.resume(lambda _, assignment: not set(ids).isdisjoint(assignment.target))
    await term.deletion.resume_for({replica.topic for replica in replicas if replica.topic in cluster.queued})
    await watch_brokers(term, ids)


async def watch_brokers(term: Term, ids: Collection[int]) -> None:
    """From now on a rewritten registration is an event."""
    raise_first(await pipelined([term.store.brokers.one(id_, term.watches.broker(id_)) for id_ in ids]))


async def brokers_failed(term: Term, ids: Collection[int]) -> None:
    """Brokers are gone: whatever they led is led elsewhere, if it can be."""
    cluster = term.cluster
    for id_ in ids:
        cluster.offline_dirs.pop(id_, None)
        cluster.shutting_down.discard(id_)
    await replicas_became_offline(term, cluster.replicas_on(ids))
    for id_ in ids:
        term.watches.forget_broker(id_)


async def replicas_became_offline(term: Term, replicas: Collection[Replica]) -> None:
    """Their partitions get other leaders and smaller in-sync sets; a deletion they were part of is halted."""
    cluster, transitions = term.cluster, term.transitions
    leaderless = cluster.partitions_with_offline_leader()
    await transitions.partitions(leaderless, partition_states.OFFLINE)
    await transitions.bring_online()
    await transitions.replicas([r for r in replicas if r.topic not in cluster.queued], replica_states.OFFLINE)
    await term.deletion.replicas_failed([r for r in replicas if r.topic in cluster.queued])
    if not leaderless:  # nobody has been told yet that brokers are gone
        await term.update_metadata(cluster.brokers)


async def broker_modifications(term: Term, event: BrokerModifications) -> None:
    """A registration was rewritten; what counts is where the broker can be reached."""
    known = term.cluster.brokers.get(event.broker)
    found = await term.store.brokers.one(event.broker, term.watches.broker(event.broker))
    if known is None or found is None:
        return
    if known.endpoints != found.endpoints or known.features != found.features:
        log.info("Broker %d changed from %s to %s", event.broker, known, found)
        term.cluster.brokers[event.broker] = found._replace(epoch=known.epoch)
        await term.update_metadata(term.cluster.brokers)


async def controlled_shutdown(term: Term, event: ControlledShutdown) -> None:
    """Leads away from a broker what can be led elsewhere; answers with the replicated partitions it still leads."""
    cluster, broker = term.cluster, event.broker
    _check_broker_epoch(cluster, broker, event.broker_epoch)
    cluster.shutting_down.add(broker)
    log.info("Broker %d shuts down; shutting down are %s", broker, listed(sorted(cluster.shutting_down)))
    replicated: list[TopicPartition] = []
    async for some in sliced(cluster.partitions_on(broker)):
        replicated += [
            partition
            for partition in some
            if len(cluster.assignment(partition).replicas) > 1
            and cluster.leadership(partition) is not None
            and partition.topic not in cluster.queued
        ]
    led = set(cluster.partitions_led_by(broker))
    moving = [partition for partition in replicated if partition in led]
    await term.transitions.partitions(moving, partition_states.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    followed = [partition for partition in replicated if partition not in led]
    batch = RequestBatch(cluster)
    async for some in sliced(followed):
        for partition in some:
            batch.add_stop_replica((broker,), partition, delete=False)
    await term.send(batch)
    await term.transitions.replicas([Replica(*partition, broker) for partition in followed], replica_states.OFFLINE)
    still_led = cluster.partitions_led_by(broker)
    event.reply({partition for partition in still_led if len(cluster.assignment(partition).replicas) > 1})


def _check_broker_epoch(cluster: Cluster, broker: int, epoch: int) -> None:
    known = cluster.brokers.get(broker)
    if epoch == UNKNOWN_BROKER_EPOCH:
        if known is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker} is not registered")
        return
    if known is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"broker {broker} is not registered")
    if epoch < known.epoch:
        detail = f"broker {broker} was registered with epoch {known.epoch} since, the request carries {epoch}"
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, detail)


async def leader_and_isr_response(term: Term, event: LeaderAndIsrResponseReceived) -> None:
    """Which of the replicas are on failed disks of the broker, which are (again) on sound ones."""
    response, broker = event.response, event.broker
    if response.error_code != ErrorCode.NONE:
        log.error("Broker %d refused LeaderAndIsr: error %d", broker, response.error_code)
        return
    failed: set[TopicPartition] = set()
    well: set[TopicPartition] = set()
    of_code: dict[int, set[TopicPartition]] = {ErrorCode.KAFKA_STORAGE_ERROR: failed, ErrorCode.NONE: well}
    turn = Turn(term.given.clock)
    for partition, code in _codes_of(term.cluster, response):
        if code in of_code:
            of_code[code].add(partition)
        await turn.maybe_yield()
    before = term.cluster.offline_dirs.get(broker, set())
    after = (before - well) | failed
    if before == after:
        return
    term.cluster.offline_dirs[broker] = after
    newly = after - before
    if newly:
        log.info("On broker %d these replicas are offline: %s", broker, listed(sorted(newly)))
        await replicas_became_offline(term, [Replica(*partition, broker) for partition in sorted(newly)])


def _codes_of(cluster: Cluster, response: LeaderAndIsrResponse) -> Iterator[tuple[TopicPartition, int]]:
    """The code of each partition; of topics that are known by id only, those that still exist."""
    for row in response.partition_errors:
        yield TopicPartition(row.topic_name, row.partition_index), row.error_code
    for topic in response.topics:
        name = cluster.topic_names.get(topic.topic_id)
        if name is not None:
            for one in topic.partition_errors:
                yield TopicPartition(name, one.partition_index), one.error_code


async def update_metadata_response(_term: Term, event: UpdateMetadataResponseReceived) -> None:
    """Nothing follows from a refusal; it is logged."""
    if event.error_code != ErrorCode.NONE:
        log.error("Broker %d refused UpdateMetadata: error %d", event.broker, event.error_code)


async def log_dir_event(term: Term, _event: LogDirEventNotification) -> None:
    """A broker lost a disk, but does not say which partitions: LeaderAndIsr for all of its replicas brings that out."""
    names = await term.store.notifications.log_dir_events(term.watches.log_dir_events)
    try:
        brokers = await term.store.notifications.read_log_dir_events(names)
        replicas = [replica for replica in term.cluster.replicas_on(brokers) if replica.broker in term.cluster.brokers]
        await term.transitions.replicas(replicas, replica_states.ONLINE)
    finally:
        await term.store.notifications.delete_log_dir_events(names, term.epoch_zk_version)
