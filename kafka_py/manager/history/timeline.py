"""The events between two observations of a cluster: what has changed, as far as both saw it.

An event is about one subject; what changed in it is listed, so a broker that leaves makes one event per topic that it
led, not one per partition. What one of the two observations could not read makes no event. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.manager.history.observation import GroupObservation, Observed

MOST_CHANGES = 100
"""Of more changes in one event the others are only counted."""
MOST_EVENTS = 500
"""Between two observations; of more events the others are only counted."""
REBALANCING = ("PreparingRebalance", "CompletingRebalance")


class EventKind(StrEnum):
    """What happened."""

    LEADERS_CHANGED = "leaders-changed"
    ISR_CHANGED = "isr-changed"
    REPLICAS_CHANGED = "replicas-changed"
    CONTROLLER_CHANGED = "controller-changed"
    BROKER_JOINED = "broker-joined"
    BROKER_LEFT = "broker-left"
    BROKER_MOVED = "broker-moved"
    TOPIC_CREATED = "topic-created"
    TOPIC_DELETED = "topic-deleted"
    TOPIC_RECREATED = "topic-recreated"
    PARTITIONS_ADDED = "partitions-added"
    SETTINGS_CHANGED = "settings-changed"
    GROUP_CREATED = "group-created"
    GROUP_REMOVED = "group-removed"
    GROUP_REBALANCED = "group-rebalanced"
    UNREACHABLE = "unreachable"
    REACHABLE = "reachable"
    MORE = "more"


class ValueChange(NamedTuple):
    """One value before and after. what: a partition's number, a setting's name, or what else has that value."""

    what: str
    before: str
    after: str


class ClusterEvent(NamedTuple):
    """Something that happened between two observations. subject: the broker, topic, group or resource."""

    time_ms: int
    kind: EventKind
    subject: str
    changes: tuple[ValueChange, ...] = ()


def events_between(before: Observed, after: Observed) -> list[ClusterEvent]:
    """What changed, brokers first. Every event has the time of the later observation."""
    events = [
        *_brokers(before, after),
        *_topics(before, after),
        *_settings(before, after),
        *_groups(before, after),
    ]
    if len(events) <= MOST_EVENTS:
        return events
    rest = ValueChange("events", "", str(len(events) - MOST_EVENTS + 1))
    return [*events[: MOST_EVENTS - 1], ClusterEvent(after.time_ms, EventKind.MORE, "", (rest,))]


def bounded(changes: tuple[ValueChange, ...]) -> tuple[ValueChange, ...]:
    """The first MOST_CHANGES; of the others the number."""
    if len(changes) <= MOST_CHANGES:
        return changes
    return (*changes[:MOST_CHANGES], ValueChange("...", "", f"{len(changes) - MOST_CHANGES} more"))


def _brokers(before: Observed, after: Observed) -> Iterator[ClusterEvent]:
    old, new, time_ms = before, after, after.time_ms
    for broker in sorted(old.nodes.keys() - new.nodes.keys()):
        change = ValueChange("address", _address(old.nodes[broker]), "")
        yield ClusterEvent(time_ms, EventKind.BROKER_LEFT, str(broker), (change,))
    for broker in sorted(new.nodes.keys() - old.nodes.keys()):
        change = ValueChange("address", "", _address(new.nodes[broker]))
        yield ClusterEvent(time_ms, EventKind.BROKER_JOINED, str(broker), (change,))
    for broker in sorted(new.nodes.keys() & old.nodes.keys()):
        if old.nodes[broker] != new.nodes[broker]:
            change = ValueChange("address", _address(old.nodes[broker]), _address(new.nodes[broker]))
            yield ClusterEvent(time_ms, EventKind.BROKER_MOVED, str(broker), (change,))
    if old.controller_id != new.controller_id:
        change = ValueChange("controller", _broker(old.controller_id), _broker(new.controller_id))
        yield ClusterEvent(time_ms, EventKind.CONTROLLER_CHANGED, _broker(new.controller_id), (change,))


def _topics(before: Observed, after: Observed) -> Iterator[ClusterEvent]:
    old, new, time_ms = before.topics, after.topics, after.time_ms
    for topic in sorted(old.keys() - new.keys()):
        change = ValueChange("partitions", str(len(old[topic].partitions)), "")
        yield ClusterEvent(time_ms, EventKind.TOPIC_DELETED, topic, (change,))
    for topic in sorted(new.keys() - old.keys()):
        change = ValueChange("partitions", "", str(len(new[topic].partitions)))
        yield ClusterEvent(time_ms, EventKind.TOPIC_CREATED, topic, (change,))
    for topic in sorted(new.keys() & old.keys()):
        if old[topic] != new[topic]:
            yield from _topic(old[topic], new[topic], time_ms)


def _topic(old: TopicInfo, new: TopicInfo, time_ms: int) -> Iterator[ClusterEvent]:
    if old.error or new.error:
        return
    if old.topic_id != new.topic_id:
        change = ValueChange("topic id", str(old.topic_id), str(new.topic_id))
        yield ClusterEvent(time_ms, EventKind.TOPIC_RECREATED, new.name, (change,))
        return
    earlier = {each.partition: each for each in old.partitions}
    later = {each.partition: each for each in new.partitions}
    if len(later) > len(earlier):
        change = ValueChange("partitions", str(len(earlier)), str(len(later)))
        yield ClusterEvent(time_ms, EventKind.PARTITIONS_ADDED, new.name, (change,))
    pairs = [(earlier[number], later[number]) for number in sorted(earlier.keys() & later.keys())]
    compared: list[tuple[EventKind, Callable[[PartitionInfo], Any], Callable[[PartitionInfo], str]]] = [
        (EventKind.LEADERS_CHANGED, lambda each: each.leader, lambda each: _broker(each.leader)),
        (EventKind.ISR_CHANGED, lambda each: sorted(each.isr), lambda each: _listed(sorted(each.isr))),
        (EventKind.REPLICAS_CHANGED, lambda each: each.replicas, lambda each: _listed(each.replicas)),
    ]
    for kind, value, shown in compared:
        changes = tuple(
            ValueChange(str(was.partition), shown(was), shown(now)) for was, now in pairs if value(was) != value(now)
        )
        if changes:
            yield ClusterEvent(time_ms, kind, new.name, bounded(changes))


def _settings(before: Observed, after: Observed) -> Iterator[ClusterEvent]:
    if before.settings is None or after.settings is None:
        return
    for resource in sorted(before.settings.keys() & after.settings.keys()):
        changes = tuple(differences(before.settings[resource], after.settings[resource]))
        if changes:
            yield ClusterEvent(after.time_ms, EventKind.SETTINGS_CHANGED, resource_name(resource), bounded(changes))


def differences(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Iterator[ValueChange]:
    """The settings whose value has changed; one that is not there has its default, which is shown as empty."""
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield ValueChange(name, before.get(name) or "", after.get(name) or "")


def resource_name(resource: ConfigResource) -> str:
    """A resource as a subject of events: topic:name, or broker:id."""
    kind = "topic" if resource.type is ConfigResourceType.TOPIC else "broker"
    return f"{kind}:{resource.name}"


def _groups(before: Observed, after: Observed) -> Iterator[ClusterEvent]:
    old, new, time_ms = before.groups, after.groups, after.time_ms
    if before.all_groups_listed and after.all_groups_listed:
        for group in sorted(old.keys() - new.keys()):
            yield ClusterEvent(time_ms, EventKind.GROUP_REMOVED, group, (ValueChange("state", old[group].state, ""),))
        for group in sorted(new.keys() - old.keys()):
            yield ClusterEvent(time_ms, EventKind.GROUP_CREATED, group, (ValueChange("state", "", new[group].state),))
    for group in sorted(new.keys() & old.keys()):
        changes = tuple(rebalance(old[group], new[group]))
        if changes:
            yield ClusterEvent(time_ms, EventKind.GROUP_REBALANCED, group, bounded(changes))


def rebalance(was: GroupObservation, now: GroupObservation) -> Iterator[ValueChange]:
    """What changed if the group has rebalanced, which other members or a rebalance that has begun show."""
    has_begun = now.state in REBALANCING and was.state not in REBALANCING
    before, after = was.members, now.members
    if before is None or after is None:
        before = after = ()
    if before == after and not has_begun:
        return
    if was.state != now.state:
        yield ValueChange("state", was.state, now.state)
    if before != after:
        yield ValueChange("members", str(len(before)), str(len(after)))
    for member in before:
        if member not in after:
            yield ValueChange(member, "member", "")
    for member in after:
        if member not in before:
            yield ValueChange(member, "", "member")


def _address(node: Node) -> str:
    rack = f", rack {node.rack}" if node.rack else ""
    return f"{node.host}:{node.port}{rack}"


def _broker(broker: int) -> str:
    return str(broker) if broker >= 0 else "none"


def _listed(brokers: tuple[int, ...] | list[int]) -> str:
    return ",".join(map(str, brokers))
