"""Settings of brokers that differ, and dangerous ones."""

from kafka_py.operations.doctor.checks import broker_settings
from kafka_py.operations.doctor.findings import Severity

from .seen_clusters import ids, only, seen


def test_settings_that_differ_between_brokers_are_found() -> None:
    apart = seen(broker_settings={1: {"message.max.bytes": "1000"}, 2: {"message.max.bytes": "2000"}, 3: {}})
    finding = only(broker_settings.settings_that_differ, apart)
    assert finding.evidence == ("message.max.bytes: '1000' on broker 1; '2000' on broker 2",)


def test_the_order_of_zookeeper_servers_has_no_meaning() -> None:
    same = {1: {"zookeeper.connect": "a:1, b:2/kafka"}, 2: {"zookeeper.connect": "b:2,a:1/kafka/"}}
    assert ids(broker_settings.settings_that_differ, seen(broker_settings=same)) == []
    other = {1: {"zookeeper.connect": "a:1/one"}, 2: {"zookeeper.connect": "a:1/two"}}
    assert only(broker_settings.settings_that_differ, seen(broker_settings=other)).id == "settings-differ"


def test_settings_that_may_differ_are_no_finding() -> None:
    apart = {1: {"broker.id": "1", "log.dirs": "/a"}, 2: {"broker.id": "2", "log.dirs": "/b"}}
    assert ids(broker_settings.settings_that_differ, seen(broker_settings=apart)) == []


def test_unclean_election_is_found_for_brokers_and_topics() -> None:
    name = "unclean.leader.election.enable"
    finding = only(broker_settings.unclean_election, seen(settings={name: "true"}))
    assert "--entity-default" in finding.repair
    both = seen(settings={name: "true"}, topic_settings={"t": {name: "true"}})
    assert not any("topic" in line for line in only(broker_settings.unclean_election, both).evidence)
    finding = only(broker_settings.unclean_election, seen(topic_settings={"t": {name: "true"}}))
    assert ("--entity-type topics" in finding.repair, finding.evidence) == (True, ("topic t",))
    assert ids(broker_settings.unclean_election, seen(settings={name: "false"})) == []


def test_auto_creation_is_advice() -> None:
    name = "auto.create.topics.enable"
    assert ids(broker_settings.auto_creation, seen(settings={name: "true"})) == [("auto-creation", Severity.NOTE)]
    assert ids(broker_settings.auto_creation, seen(settings={name: "false"})) == []
