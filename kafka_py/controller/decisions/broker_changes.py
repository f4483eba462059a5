"""Brokers that start, fail, restart, or change their listeners.

Source: docs/reference/controller.md, section 7; KIP-380 (restarted brokers).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.controller.decisions import deletion, reassignment
from kafka_py.controller.decisions.notes import LogLines
from kafka_py.controller.decisions.partition_moves import bring_online, move_partitions
from kafka_py.controller.decisions.plan import Plan
from kafka_py.controller.decisions.replica_moves import move_replicas
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.decisions.steps import Address, CloseChannel, OpenChannel, update_metadata
from kafka_py.controller.decisions.znode_steps import ForgetBroker, ReadBroker, ReadBrokers, WatchBrokers
from kafka_py.controller.events import BrokerChange, BrokerModifications
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAndReplica
from kafka_py.zk.brokers import RegisteredBroker

notes = LogLines(__name__)


class BrokerChanges(NamedTuple):
    """Sorted broker ids. bounced: restarted since the last comparison."""

    new: list[int]
    bounced: list[int]
    dead: list[int]


def compare(known: Mapping[int, RegisteredBroker], found: Mapping[int, RegisteredBroker]) -> BrokerChanges:
    """The differences between two lists of registrations; a broker with a larger broker epoch has restarted."""
    return BrokerChanges(
        new=sorted(found.keys() - known.keys()),
        bounced=sorted(id_ for id_ in found.keys() & known.keys() if found[id_].epoch > known[id_].epoch),
        dead=sorted(known.keys() - found.keys()),
    )


def address_of(broker: RegisteredBroker, listener: str) -> Address:
    """The broker's address for requests of the controller. Raises KafkaError(LISTENER_NOT_FOUND)."""
    endpoint = broker.endpoint(listener)
    if endpoint is None:
        raise KafkaError(ErrorCode.LISTENER_NOT_FOUND, f"broker {broker.id} does not advertise listener {listener}")
    return Address(endpoint.host, endpoint.port)


def broker_change(cluster: ControllerContext, _event: BrokerChange, settings: Settings) -> Plan[None]:
    """Handles created and removed broker registrations."""
    found = yield from ReadBrokers()
    changes = compare(cluster.brokers, found)
    addresses = {
        id_: address_of(found[id_], settings.control_listener) for id_ in (*changes.new, *changes.bounced)
    }
    if any(changes):
        yield from notes.info("New brokers: %s, bounced: %s, dead: %s", *changes)
    for id_ in changes.bounced:
        yield from CloseChannel(id_)
    for id_, address in addresses.items():
        yield from OpenChannel(id_, address)
    for id_ in changes.dead:
        yield from CloseChannel(id_)
    if changes.new:
        _add(cluster, found, changes.new)
        yield from brokers_started(cluster, changes.new)
    if changes.bounced:
        _remove(cluster, changes.bounced)
        yield from brokers_failed(cluster, changes.bounced)
        _add(cluster, found, changes.bounced)
        yield from brokers_started(cluster, changes.bounced)
    if changes.dead:
        _remove(cluster, changes.dead)
        yield from brokers_failed(cluster, changes.dead)


def _add(cluster: ControllerContext, found: Mapping[int, RegisteredBroker], ids: Collection[int]) -> None:
    for id_ in ids:
        cluster.brokers[id_] = found[id_]


def _remove(cluster: ControllerContext, ids: Collection[int]) -> None:
    for id_ in ids:
        cluster.brokers.pop(id_, None)


def brokers_started(cluster: ControllerContext, ids: Collection[int]) -> Plan[None]:
    """Sends metadata to new brokers and about them, starts their replicas, elects leaders for offline partitions."""
    for id_ in ids:
        cluster.offline_dirs.pop(id_, None)
    yield from update_metadata(cluster, cluster.brokers.keys() - set(ids))
    yield from update_metadata(cluster, ids, cluster.partitions_with_leadership())
    replicas = cluster.replicas_on(ids)
    yield from move_replicas(cluster, replicas, replica_states.ONLINE)
    yield from bring_online(cluster)
    yield from reassignment.resume(cluster, lambda _, assignment: not set(ids).isdisjoint(assignment.target))
    topics = {replica.topic for replica in replicas if replica.topic in cluster.queued}
    yield from deletion.resume_for(cluster, topics)
    yield from WatchBrokers(ids)


def brokers_failed(cluster: ControllerContext, ids: Collection[int]) -> Plan[None]:
    """Handles failed brokers: elects other leaders for the partitions that they led."""
    for id_ in ids:
        cluster.offline_dirs.pop(id_, None)
        cluster.shutting_down.discard(id_)
    yield from replicas_became_offline(cluster, cluster.replicas_on(ids))
    for id_ in ids:
        yield from ForgetBroker(id_)


def replicas_became_offline(cluster: ControllerContext, replicas: Collection[PartitionAndReplica]) -> Plan[None]:
    """Elects other leaders, shrinks in-sync sets, and halts deletions of topics with these replicas."""
    leaderless = cluster.partitions_with_offline_leader()
    yield from move_partitions(cluster, leaderless, partition_states.OFFLINE)
    yield from bring_online(cluster)
    staying = [replica for replica in replicas if replica.topic not in cluster.queued]
    yield from move_replicas(cluster, staying, replica_states.OFFLINE)
    yield from deletion.replicas_failed(cluster, [r for r in replicas if r.topic in cluster.queued])
    if not leaderless:  # no UpdateMetadata without the failed brokers was sent yet
        yield from update_metadata(cluster, cluster.brokers)


def broker_modifications(cluster: ControllerContext, event: BrokerModifications, _settings: Settings) -> Plan[None]:
    """Handles a rewritten registration; only a change of the endpoints matters."""
    known = cluster.brokers.get(event.broker)
    found = yield from ReadBroker(event.broker)
    if known is None or found is None:
        return
    if known.endpoints != found.endpoints or known.features != found.features:
        yield from notes.info("Broker %d changed from %s to %s", event.broker, known, found)
        cluster.brokers[event.broker] = found._replace(epoch=known.epoch)
        yield from update_metadata(cluster, cluster.brokers)
