"""The timeline: the events between two observations are exactly what differs."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.manager.history.observation import GroupObservation, Observed
from kafka_py.manager.history.timeline import (
    MOST_CHANGES,
    MOST_EVENTS,
    REBALANCING,
    ClusterEvent,
    EventKind,
    ValueChange,
    events_between,
    resource_name,
)

brokers = st.lists(st.integers(0, 4), max_size=4, unique=True)
names = st.sampled_from(["a", "b", "<script>", "d"])


def partition(topic: str, number: int, leader: int, replicas: tuple[int, ...], isr: tuple[int, ...]) -> PartitionInfo:
    return PartitionInfo(topic, number, leader, 1, replicas, isr, ())


@st.composite
def topic_infos(draw: st.DrawFn) -> dict[str, TopicInfo]:
    found = {}
    for name in draw(st.lists(names, unique=True)):
        parts = [
            partition(name, number, draw(st.integers(-1, 3)), tuple(draw(brokers)), tuple(draw(brokers)))
            for number in range(draw(st.integers(1, 3)))
        ]
        found[name] = TopicInfo(name, uuid.UUID(int=1), False, tuple(parts))
    return found


members = st.lists(st.sampled_from(["m1", "m2", "m3"]), unique=True).map(lambda ids: tuple(sorted(ids)))
groups = st.dictionaries(
    names,
    st.builds(
        GroupObservation, st.sampled_from(["Stable", "Empty", "PreparingRebalance"]), members, st.none()
    ),
)
resources = st.builds(ConfigResource, st.just(ConfigResourceType.TOPIC), names)
settings_of_all = st.dictionaries(resources, st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"])))
observations = st.builds(
    Observed,
    time_ms=st.just(1),
    controller_id=st.integers(-1, 3),
    nodes=st.dictionaries(st.integers(0, 4), st.integers(1, 2)).map(
        lambda found: {broker: Node(broker, "h", port, None) for broker, port in found.items()}
    ),
    topics=topic_infos(),
    groups=groups,
    settings=settings_of_all,
)


def replayed(before: Observed, events: list[ClusterEvent]) -> dict[str, Any]:
    """What the events turn the state before them into, as far as they say."""
    state = shown(before)
    for event in events:
        for change in event.changes:
            match event.kind:
                case EventKind.BROKER_JOINED | EventKind.BROKER_MOVED:
                    state["nodes"][event.subject] = change.after
                case EventKind.BROKER_LEFT:
                    assert state["nodes"].pop(event.subject) == change.before
                case EventKind.CONTROLLER_CHANGED:
                    state["controller"] = change.after
                case EventKind.TOPIC_DELETED:
                    del state["topics"][event.subject]
                case EventKind.LEADERS_CHANGED | EventKind.ISR_CHANGED | EventKind.REPLICAS_CHANGED:
                    row = state["topics"][event.subject][int(change.what)]
                    assert row[event.kind] == change.before != change.after
                    row[event.kind] = change.after
                case EventKind.SETTINGS_CHANGED:
                    state["settings"][event.subject][change.what] = change.after
                case EventKind.GROUP_REMOVED:
                    del state["groups"][event.subject]
                case EventKind.GROUP_REBALANCED if change.what.startswith("m") and change.what != "members":
                    who = state["groups"][event.subject]
                    (who.add if change.after else who.remove)(change.what)
                case _:
                    pass
    return state


def shown(seen: Observed) -> dict[str, Any]:
    def listed(ids: tuple[int, ...]) -> str:
        return ",".join(map(str, ids))

    def of_topic(topic: TopicInfo) -> dict[int, dict[EventKind, str]]:
        return {
            each.partition: {
                EventKind.LEADERS_CHANGED: str(each.leader) if each.leader >= 0 else "none",
                EventKind.ISR_CHANGED: listed(tuple(sorted(each.isr))),
                EventKind.REPLICAS_CHANGED: listed(each.replicas),
            }
            for each in topic.partitions
        }

    return {
        "nodes": {str(broker): f"{node.host}:{node.port}" for broker, node in seen.nodes.items()},
        "controller": str(seen.controller_id) if seen.controller_id >= 0 else "none",
        "topics": {name: of_topic(topic) for name, topic in seen.topics.items()},
        "settings": {resource_name(each): dict(values) for each, values in (seen.settings or {}).items()},
        "groups": {name: set(group.members or ()) for name, group in seen.groups.items()},
    }


@given(observations, observations)
def test_the_events_turn_the_former_observation_into_the_latter(before: Observed, after: Observed) -> None:
    events = events_between(before, after)
    result, wanted = replayed(before, events), shown(after)
    assert result["nodes"] == wanted["nodes"]
    assert result["controller"] == wanted["controller"]
    created = {event.subject for event in events if event.kind is EventKind.TOPIC_CREATED}
    assert created == after.topics.keys() - before.topics.keys()
    for name, parts in result["topics"].items():
        both = parts.keys() & wanted["topics"][name].keys()
        assert {each: parts[each] for each in both} == {each: wanted["topics"][name][each] for each in both}
    assert result["topics"].keys() | created == wanted["topics"].keys()
    for name, values in result["settings"].items():
        if name in wanted["settings"]:
            assert {key: value for key, value in values.items() if value} == wanted["settings"][name]
    for name, who in result["groups"].items():
        assert who == wanted["groups"][name]


@given(observations)
def test_without_a_difference_there_is_no_event(seen: Observed) -> None:
    assert events_between(seen, replace(seen, time_ms=2, took_ms=5.0, ends={"a": (5,)})) == []


def of_groups(all_listed: bool = True, **found: GroupObservation) -> Observed:
    return Observed(time_ms=1, groups=found, all_groups_listed=all_listed)


def kinds(before: Observed, after: Observed) -> list[EventKind]:
    return [event.kind for event in events_between(before, after)]


def test_a_group_that_could_not_be_listed_was_not_removed() -> None:
    group = GroupObservation("Stable", ("m1",), None)
    assert kinds(of_groups(g=group), of_groups()) == [EventKind.GROUP_REMOVED]
    assert kinds(of_groups(g=group), of_groups(False)) == []
    assert kinds(of_groups(False), of_groups(g=group)) == []


def test_a_rebalance_shows_by_its_state_or_by_other_members() -> None:
    stable = GroupObservation("Stable", ("m1",), None)
    for after in (stable._replace(state=REBALANCING[0]), stable._replace(members=("m1", "m2"))):
        assert kinds(of_groups(g=stable), of_groups(g=after)) == [EventKind.GROUP_REBALANCED]
    assert kinds(of_groups(g=stable), of_groups(g=stable._replace(members=None))) == []
    assert kinds(of_groups(g=stable._replace(state=REBALANCING[0])), of_groups(g=stable)) == []


def test_settings_that_were_not_asked_for_have_not_changed() -> None:
    resource = ConfigResource(ConfigResourceType.TOPIC, "t")
    known = Observed(time_ms=1, settings={resource: {"x": "1"}})
    assert events_between(known, Observed(time_ms=2)) == []
    [event] = events_between(known, Observed(time_ms=2, settings={resource: {}}))
    assert event == ClusterEvent(2, EventKind.SETTINGS_CHANGED, "topic:t", (ValueChange("x", "1", ""),))


def test_a_topic_with_another_id_was_created_again() -> None:
    topic = TopicInfo("t", uuid.UUID(int=1), False, (partition("t", 0, 1, (1,), (1,)),))
    before = Observed(time_ms=1, topics={"t": topic})
    after = replace(before, topics={"t": topic._replace(topic_id=uuid.UUID(int=2))})
    assert kinds(before, after) == [EventKind.TOPIC_RECREATED]


def test_a_very_large_change_is_cut_and_says_how_much_more_there_was() -> None:
    def topics(leader: int, count: int, parts: int) -> Mapping[str, TopicInfo]:
        return {
            f"t{each:04}": TopicInfo(
                f"t{each:04}",
                uuid.UUID(int=1),
                False,
                tuple(partition("t", number, leader, (1, 2), (1, 2)) for number in range(parts)),
            )
            for each in range(count)
        }

    before = Observed(time_ms=1, topics=topics(1, MOST_EVENTS + 7, MOST_CHANGES + 3))
    events = events_between(before, Observed(time_ms=2, topics=topics(2, MOST_EVENTS + 7, MOST_CHANGES + 3)))
    assert len(events) == MOST_EVENTS
    assert events[-1].kind is EventKind.MORE and events[-1].changes[0].after == "8"
    assert len(events[0].changes) == MOST_CHANGES + 1 and events[0].changes[-1].after == "3 more"
