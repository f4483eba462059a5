"""What is remembered of settings: no defaults, no secrets, and what was known where a broker did not answer."""

from uuid import UUID

from kafka_py.clients.admin.resources import ConfigEntry, ConfigResource, ConfigResourceType, ConfigSource
from kafka_py.clients.metadata import Node, TopicInfo
from kafka_py.manager.history.observing import changed_settings, merged_settings, resources_of
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot

BROKER, TOPIC, GONE = (
    ConfigResource(ConfigResourceType.BROKER, "1"),
    ConfigResource(ConfigResourceType.TOPIC, "t"),
    ConfigResource(ConfigResourceType.TOPIC, "gone"),
)
SNAPSHOT = ClusterSnapshot(0, nodes={1: Node(1, "a", 1)}, topics={"t": TopicInfo("t", UUID(int=1), False, ())})


def test_defaults_and_secrets_are_not_remembered() -> None:
    entries = {
        "a": ConfigEntry("a", "1", ConfigSource.DEFAULT_CONFIG),
        "b": ConfigEntry("b", "2", ConfigSource.DYNAMIC_BROKER_CONFIG),
        "c": ConfigEntry("c", "secret", ConfigSource.STATIC_BROKER_CONFIG, is_sensitive=True),
        "d": ConfigEntry("d", None, ConfigSource.STATIC_BROKER_CONFIG),
    }
    assert changed_settings(entries) == {"b": "2", "d": None}


def test_what_did_not_answer_keeps_what_was_known_and_what_is_gone_is_forgotten() -> None:
    assert resources_of(SNAPSHOT) == [BROKER, TOPIC]
    before = {BROKER: {"x": "1"}, TOPIC: {"y": "1"}, GONE: {"z": "1"}}
    assert merged_settings(before, {TOPIC: {"y": "2"}}, SNAPSHOT) == {BROKER: {"x": "1"}, TOPIC: {"y": "2"}}
    assert merged_settings({}, {TOPIC: {}}, SNAPSHOT) == {TOPIC: {}}
