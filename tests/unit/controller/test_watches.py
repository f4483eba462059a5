"""Watches become events: the right kind of change only, one callable per subject, nothing after the end."""

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.events import (
    BrokerChange,
    BrokerModifications,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    TopicChange,
    ZkPartitionReassignment,
)
from kafka_py.controller.watches import Watches
from kafka_py.zk.session import EventType, WatchEvent


def seen(type_):
    return WatchEvent(type_, "/somewhere")


def test_only_the_awaited_kind_of_change_is_an_event():
    events = []
    watches = Watches(events.append)
    cases = [
        (watches.brokers, EventType.CHILDREN, BrokerChange),
        (watches.topics, EventType.CHILDREN, TopicChange),
        (watches.reassignments, EventType.CREATED, ZkPartitionReassignment),
        (watches.broker(7), EventType.CHANGED, BrokerModifications),
        (watches.topic("t"), EventType.CHANGED, PartitionModifications),
        (watches.reassigned_partition(TopicPartition("t", 0)), EventType.CHANGED, PartitionReassignmentIsrChange),
    ]
    for watch, wanted, event in cases:
        events.clear()
        for type_ in EventType:
            watch(seen(type_))
        assert [type(one) for one in events] == [event], wanted


def test_events_say_what_they_are_about():
    events = []
    watches = Watches(events.append)
    watches.broker(7)(seen(EventType.CHANGED))
    watches.topic("t")(seen(EventType.CHANGED))
    assert (events[0].broker, events[1].topic) == (7, "t")


def test_a_subject_has_one_watch_until_it_is_forgotten():
    watches = Watches(lambda _: None)
    first = watches.topic("t")
    assert watches.topic("t") is first
    assert watches.topic("u") is not first
    watches.forget_topic("t")
    assert watches.topic("t") is not first


def test_after_the_end_nothing_happens():
    events = []
    watches = Watches(events.append)
    armed = watches.topic("t")
    watches.end()
    armed(seen(EventType.CHANGED))
    watches.brokers(seen(EventType.CHILDREN))
    assert events == []
