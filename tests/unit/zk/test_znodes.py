"""The znode table: paths and JSON as 2.8 writes and reads them."""

import json
import uuid

import pytest

from kafka_py.zk import acl_znodes, config_znodes, znodes
from kafka_py.zk.config_znodes import ConfigChangeZNode, ConfigZNode, desanitize, entity_path, sanitize
from kafka_py.zk.schema import MalformedZNode, NumberText
from kafka_py.zk.znodes import (
    BrokerEndpoint,
    BrokerIdZNode,
    ClusterIdZNode,
    ControllerEpochZNode,
    ControllerZNode,
    FeatureLevels,
    FeatureVersionRange,
    FeatureZNode,
    IsrChangeZNode,
    LogDirEventZNode,
    OldConsumerOffsetZNode,
    PartitionStateZNode,
    PreferredReplicaElectionZNode,
    ProducerIdBlockZNode,
    ReassignmentRow,
    ReassignPartitionsZNode,
    TopicPartitionRow,
    TopicZNode,
)

PLAIN = BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "node1", 9092)
TLS = BrokerEndpoint("PUBLIC", "SSL", "::1", 9093)

# What each znode holds: the value, and the text byte for byte.
WRITTEN = [
    (ClusterIdZNode("wIeLNSvfQzSS1mc9uTRzgQ"), b'{"version":"1","id":"wIeLNSvfQzSS1mc9uTRzgQ"}'),
    (ControllerZNode(8, NumberText(1600000000000)), b'{"version":1,"brokerid":8,"timestamp":"1600000000000"}'),
    (ControllerEpochZNode(29), b"29"),
    (
        PartitionStateZNode(controller_epoch=29, leader=2, leader_epoch=48, isr=[2]),
        b'{"controller_epoch":29,"leader":2,"version":1,"leader_epoch":48,"isr":[2]}',
    ),
    (
        TopicZNode({0: [1, 2, 3]}),
        b'{"partitions":{"0":[1,2,3]},"removing_replicas":{},"adding_replicas":{},"version":3}',
    ),
    (
        TopicZNode({0: [1, 2]}, {0: [1]}, {0: [2]}, uuid.UUID("01235f67-89ab-cdef-fedc-ba9876543210")),
        b'{"partitions":{"0":[1,2]},"removing_replicas":{"0":[2]},"topic_id":"ASNfZ4mrze_-3LqYdlQyEA",'
        b'"adding_replicas":{"0":[1]},"version":3}',
    ),
    (
        ConfigZNode({"segment.bytes": "1048576"}),
        b'{"version":1,"config":{"segment.bytes":"1048576"}}',
    ),
    (ConfigZNode(), b'{"version":1,"config":{}}'),
    (ConfigChangeZNode("topics/foo"), b'{"version":2,"entity_path":"topics/foo"}'),
    (IsrChangeZNode([TopicPartitionRow("t", 0)]), b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'),
    (LogDirEventZNode(3), b'{"version":1,"broker":3,"event":1}'),
    (
        ReassignPartitionsZNode([ReassignmentRow("t", 0, [1, 2])]),
        b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}',
    ),
    (
        PreferredReplicaElectionZNode([TopicPartitionRow("t", 0)]),
        b'{"version":1,"partitions":[{"topic":"t","partition":0}]}',
    ),
    (
        ProducerIdBlockZNode(1, NumberText(0), NumberText(999)),
        b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}',
    ),
    (FeatureZNode(0, {}), b'{"version":1,"status":0,"features":{}}'),
    (
        FeatureZNode(1, {"f": FeatureLevels(1, 2)}),
        b'{"version":1,"status":1,"features":{"f":{"min_version_level":1,"max_version_level":2}}}',
    ),
    (OldConsumerOffsetZNode(42), b"42"),
]


@pytest.mark.parametrize(("value", "text"), WRITTEN, ids=lambda case: type(case).__name__)
def test_each_znode_is_written_byte_for_byte_and_read_back(value, text):
    assert value.encode() == text
    read = type(value).decode(text)
    assert read == (ControllerZNode(8) if isinstance(value, ControllerZNode) else value)


def test_every_path_of_the_table_is_spelled_once():
    assert {
        "/brokers/ids/1": znodes.BrokerIdZNode.path(1),
        "/brokers/topics/t/partitions/0/state": PartitionStateZNode.path("t", 0),
        "/brokers/topics/t/partitions/0": znodes.TopicPartitionZNode.path("t", 0),
        "/config/topics/t": ConfigZNode.path(entity_path(("topics", "t"))),
        "/config/users": config_znodes.ConfigTypeZNode.path("users"),
        "/config/changes/config_change_": ConfigChangeZNode.path(),
        "/isr_change_notification/isr_change_": IsrChangeZNode.path(),
        "/log_dir_event_notification/log_dir_event_": LogDirEventZNode.path(),
        "/admin/delete_topics/t": znodes.DeleteTopicZNode.path("t"),
        "/consumers/g/offsets/t/0": OldConsumerOffsetZNode.path("g", "t", 0),
    } == {path: path for path in (
        "/brokers/ids/1", "/brokers/topics/t/partitions/0/state", "/brokers/topics/t/partitions/0", "/config/topics/t",
        "/config/users", "/config/changes/config_change_", "/isr_change_notification/isr_change_",
        "/log_dir_event_notification/log_dir_event_", "/admin/delete_topics/t", "/consumers/g/offsets/t/0",
    )}  # fmt: skip
    names = {*dir(znodes), *dir(config_znodes), *dir(acl_znodes)}
    assert len(znodes.table()) == len([name for name in names if name.endswith("ZNode") and name != "ZNode"]) - 1


def test_the_top_level_paths_are_made_in_this_order():
    assert znodes.TOP_LEVEL_PATHS == (
        "/consumers", "/brokers/ids", "/brokers/topics", "/config/changes", "/admin/delete_topics", "/brokers/seqid",
        "/isr_change_notification", "/latest_producer_id_block", "/log_dir_event_notification", "/config/topics",
        "/config/clients", "/config/users", "/config/brokers", "/config/ips",
    )  # fmt: skip


# ---- broker registrations


def test_a_registration_of_version_4_has_no_features_and_5_has():
    four = BrokerIdZNode.of([PLAIN], jmx_port=-1, timestamp_ms=1600000000000)
    assert four.encode() == (
        b'{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://node1:9092"],'
        b'"jmx_port":-1,"port":9092,"host":"node1","version":4,"timestamp":"1600000000000"}'
    )
    five = BrokerIdZNode.of([PLAIN], jmx_port=9999, timestamp_ms=1, version=5, rack="r1")
    assert five.encode() == (
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
        b'"endpoints":["PLAINTEXT://node1:9092"],"rack":"r1","jmx_port":9999,"port":9092,"host":"node1","version":5,'
        b'"timestamp":"1"}'
    )


def test_host_and_port_are_those_of_the_first_plaintext_endpoint_or_null():
    """The one key that is written as null."""
    both = json.loads(BrokerIdZNode.of([TLS, PLAIN], jmx_port=-1, timestamp_ms=1).encode())
    assert (both["host"], both["port"]) == ("node1", 9092)
    none = json.loads(BrokerIdZNode.of([TLS], jmx_port=-1, timestamp_ms=1).encode())
    assert (none["host"], none["port"]) == (None, -1)
    assert none["endpoints"] == ["PUBLIC://[::1]:9093"]


def registration(**changes):
    row = json.loads(BrokerIdZNode.of([PLAIN, TLS], jmx_port=-1, timestamp_ms=1, version=5, rack="r").encode())
    return json.dumps({key: value for key, value in {**row, **changes}.items() if value != "absent"}).encode()


def test_a_registration_is_read_back():
    read = BrokerIdZNode.decode(registration(features={"f": {"min_version": 1, "max_version": 2}}))
    assert read.parsed_endpoints() == [PLAIN, TLS]
    assert (read.rack, read.jmx_port, read.version) == ("r", -1, 5)
    assert read.features == {"f": FeatureVersionRange(1, 2)}


def test_a_registration_of_version_1_is_one_plaintext_endpoint():
    """S1-066: /brokers/ids/[brokerId]."""
    read = BrokerIdZNode.decode(b'{"jmx_port":-1,"host":"node1","version":1,"port":9092}')
    assert read.parsed_endpoints() == [PLAIN]


def test_keys_nobody_reads_may_hold_anything():
    read = BrokerIdZNode.decode(registration(host=5, port="x", timestamp=None, rack=None, features="absent"))
    assert (read.rack, read.features, len(read.parsed_endpoints())) == (None, None, 2)


def test_without_a_protocol_map_the_listeners_name_is_its_protocol():
    read = BrokerIdZNode.decode(
        registration(version=2, listener_security_protocol_map="absent", endpoints=["ssl://h:1", "PLAINTEXT://:2"])
    )
    assert read.parsed_endpoints() == [
        BrokerEndpoint("SSL", "SSL", "h", 1),
        BrokerEndpoint("PLAINTEXT", "PLAINTEXT", "", 2),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0},
        {"version": "5"},
        {"version": "absent"},
        {"jmx_port": "absent"},
        {"jmx_port": "9999"},
        {"endpoints": "absent"},
        {"endpoints": ["PLAINTEXT:/node1:9092"]},
        {"endpoints": ["PLAINTEXT://node1"]},
        {"endpoints": ["PLAINTEXT://a:1", "plaintext://b:2"]},
        {"endpoints": ["OTHER://a:1"]},
        {"listener_security_protocol_map": {"PLAINTEXT": "PLAIN", "PUBLIC": "SSL"}},
        {"listener_security_protocol_map": "absent"},
        {"rack": 5},
    ],
)
def test_a_registration_that_cannot_be_understood_is_malformed(changes):
    with pytest.raises(MalformedZNode):
        BrokerIdZNode.decode(registration(**changes)).parsed_endpoints()


# ---- reading what others wrote


def test_a_topic_is_read_whatever_its_version_says():
    """S1-067: version 1 has partitions only; absent maps are empty, an absent map of partitions is an empty topic."""
    assert TopicZNode.decode(b'{"version":1,"partitions":{"0":[1,2]}}') == TopicZNode({0: [1, 2]})
    assert TopicZNode.decode(b'{"version":"x"}') == TopicZNode()


def test_s1_068_a_state_in_any_key_order():
    """S1-068; W8.4: controller_epoch, leader, version, leader_epoch, isr."""
    read = PartitionStateZNode.decode(b'{"controller_epoch":29,"leader":2,"version":1,"leader_epoch":48,"isr":[2]}')
    assert read == PartitionStateZNode(controller_epoch=29, leader=2, leader_epoch=48, isr=[2])
    assert (
        PartitionStateZNode.decode(b'{"version":1,"isr":[2],"leader":2,"leader_epoch":48,"controller_epoch":29}')
        == read
    )


def test_s1_069_only_the_broker_id_of_the_controller_is_read():
    assert ControllerZNode.decode(b'{"version":1,"brokerid":8}').brokerid == 8
    assert ControllerZNode.decode(b'{"version":"?","brokerid":8,"timestamp":5}').brokerid == 8
    with pytest.raises(MalformedZNode):
        ControllerZNode.decode(b'{"version":1,"brokerid":"8"}')


@pytest.mark.parametrize("data", [None, b"", b"x", b"1.5"])
def test_an_epoch_is_decimal_text(data):
    with pytest.raises(MalformedZNode):
        ControllerEpochZNode.decode(data)


def test_a_config_change_of_version_1_names_a_topic_or_client():
    read = ConfigChangeZNode.decode(b'{"version":1,"entity_type":"clients","entity_name":"x"}')
    assert read.entity_path == "clients/x"


@pytest.mark.parametrize(
    "data",
    [
        b'{"version":3,"entity_path":"topics/t"}',
        b'{"entity_path":"topics/t"}',
        b'{"version":2}',
        b'{"version":1,"entity_type":"users","entity_name":"x"}',
        b'{"version":1,"entity_type":"topics"}',
        b"not json",
    ],
)
def test_other_config_changes_are_malformed(data):
    with pytest.raises(MalformedZNode):
        ConfigChangeZNode.decode(data)


def test_config_values_are_text():
    with pytest.raises(MalformedZNode):
        ConfigZNode.decode(b'{"version":1,"config":{"segment.bytes":1048576}}')


def test_an_unknown_key_drops_a_reassignment():
    """One unknown key, e.g. log_dirs, makes 2.8.2 drop the whole node."""
    with pytest.raises(MalformedZNode, match="log_dirs"):
        ReassignPartitionsZNode.decode(
            b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any"]}]}'
        )


@pytest.mark.parametrize(
    "data",
    [b'{"version":0,"status":0,"features":{}}', b'{"version":1,"status":2,"features":{}}', b'{"version":1,"status":0}',
     b'{"version":1,"features":{}}', b'{"status":0,"features":{}}'],
)  # fmt: skip
def test_features_are_checked(data):
    with pytest.raises(MalformedZNode):
        FeatureZNode.decode(data)


# ---- names in paths


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alice", "alice"),
        ("a b", "a%20b"),
        ("CN=a,O=b/c", "CN%3Da%2CO%3Db%2Fc"),
        ("*", "%2A"),
        ("a+b~c", "a%2Bb%7Ec"),
        ("ü", "%C3%BC"),
        ("<default>", "<default>"),
        ("-._", "-._"),
    ],
)
def test_user_and_client_names_are_sanitised(name, text):
    assert (sanitize(name), desanitize(text)) == (text, name)


def test_topics_and_brokers_are_not_sanitised_in_an_entity_path():
    assert entity_path(("topics", "a.b")) == "topics/a.b"
    assert entity_path(("users", "a b"), ("clients", "<default>")) == "users/a%20b/clients/<default>"
    assert entity_path(("brokers", "<default>")) == "brokers/<default>"
