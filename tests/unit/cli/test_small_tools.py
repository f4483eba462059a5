"""The tools that ask brokers a question: what they make of answers, and what they refuse."""

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli import broker_api_versions, cluster, delete_records, get_offsets, log_dirs
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.common.connection_options import admin_properties
from kafka_py.cli.java_compat.java_errors import exception_name, exception_text
from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node
from kafka_py.wire.apis import APIS

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
NOBODY = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (ErrorCode.POLICY_VIOLATION, "PolicyViolationException"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, "InvalidTopicException"),
        (ErrorCode.KAFKA_STORAGE_ERROR, "KafkaStorageException"),
        (ErrorCode.REQUEST_TIMED_OUT, "TimeoutException"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "TopicAuthorizationException"),
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "TransactionalIdAuthorizationException"),
        (ErrorCode.SASL_AUTHENTICATION_FAILED, "SaslAuthenticationException"),
        (ErrorCode.FEATURE_UPDATE_FAILED, "FeatureUpdateFailedException"),
        (ErrorCode.UNKNOWN_SERVER_ERROR, "UnknownServerException"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "UnknownTopicOrPartitionException"),
    ],
)
def test_errors_have_the_names_of_the_classic_exceptions(code, name):
    assert exception_name(code) == f"org.apache.kafka.common.errors.{name}"
    assert exception_text(KafkaError(code, "why")) == f"org.apache.kafka.common.errors.{name}: why"


def test_the_bootstrap_server_wins_over_the_file(tmp_path):
    file = tmp_path / "admin.properties"
    file.write_text("bootstrap.servers=file:1\nclient.id=me\n")
    options = log_dirs.parser().parse(["--bootstrap-server", "given:2", "--command-config", str(file), "--describe"])
    assert admin_properties(options) == {"bootstrap.servers": "given:2", "client.id": "me"}


# ---- kafka-get-offsets.sh


def test_offsets_are_listed_by_partition_and_empty_where_there_is_none():
    assert list(get_offsets.lines([T0, T1], {T0: 15, T1: None})) == ["t:0:15", "t:1:"]


def test_partitions_are_selected_and_what_is_missing_is_said(capsys):
    leaders = {2: 1, 0: 1, 1: -1}
    assert get_offsets.select("t", leaders, set()) == [T0, TopicPartition("t", 2)]
    assert capsys.readouterr().err == "Error: partition 1 does not have a leader. Skip getting offsets\n"
    assert get_offsets.select("t", leaders, {0, 7}) == [T0]
    assert capsys.readouterr().err == "Error: partition 7 does not exist\n"


@pytest.mark.parametrize(
    ("leaders", "wanted", "message"),
    [
        ({}, set(), "Topic t does not exist"),
        ({0: 1}, {8, 7}, "Topic t does not have any of the requested partitions 7,8"),
    ],
)
def test_a_topic_without_what_is_asked_for_is_an_error(leaders, wanted, message):
    with pytest.raises(CommandFailed) as caught:
        get_offsets.select("t", leaders, wanted)
    assert str(caught.value) == message


def test_the_partition_list_is_one_of_numbers(capsys):
    assert get_offsets.wanted_partitions("") == set()
    assert get_offsets.wanted_partitions("0,2") == {0, 2}
    code = get_offsets.main(["--broker-list", "h:1", "--topic", "t", "--partitions", "1,,2"])
    assert code == 1
    assert capsys.readouterr().err == (
        "--partitions expects a comma separated list of numeric partition ids, but received: 1,,2\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topic", "t"], 'Missing required argument "[broker-list]"'),
        (["--broker-list", "h:1"], 'Missing required argument "[topic]"'),
        (["--broker-list", "h", "--topic", "t"], "Please provide valid host:port"),
        (["--bootstrap-server", "h:1,x:", "--topic", "t"], "Please provide valid host:port"),
    ],
)
def test_get_offsets_refuses_wrong_usage(arguments, message):
    with pytest.raises(UsageError) as caught:
        get_offsets.main(arguments)
    assert message in str(caught.value)


# ---- kafka-broker-api-versions.sh


def test_versions_are_told_as_the_classic_tells_them():
    """Known, single, unknown, missing, too old and too new."""
    offered = {int(key): VersionRange(api.min_version, api.max_version) for key, api in APIS.items()}
    del offered[3]
    offered |= {0: VersionRange(0, 99), 1: VersionRange(50, 60), 47: VersionRange(0, 0), 99: VersionRange(0, 3)}
    texts = list(broker_api_versions.api_texts(offered))
    assert texts[0] == "Produce(0): 0 to 99 [usable: 9]"
    assert texts[1] == "Fetch(1): 50 to 60 [unusable: node too new]"
    assert texts[3] == "Metadata(3): UNSUPPORTED"
    assert "OffsetDelete(47): 0 [usable: 0]" in texts
    assert texts[-1] == "UNKNOWN(99): 0 to 3"
    assert broker_api_versions.broker_text(Node(1, "h1", 9092, "r1"), {99: VersionRange(0, 3)}).startswith(
        "h1:9092 (id: 1 rack: r1) -> (\n\tProduce(0): UNSUPPORTED,\n\tFetch(1): UNSUPPORTED,\n"
    )


def test_a_broker_that_does_not_answer_is_told():
    text = broker_api_versions.broker_text(Node(1, "h1", 9092), KafkaError(ErrorCode.NETWORK_EXCEPTION, "gone"))
    assert text == "h1:9092 (id: 1 rack: null) -> ERROR: org.apache.kafka.common.errors.NetworkException: gone"


# ---- kafka-log-dirs.sh


def test_log_dirs_are_described_as_json():
    directories = {
        "/d1": LogDirDescription(
            None, {T0: ReplicaInfo(78, 0, False), TopicPartition("u", 1): ReplicaInfo(0, 3, True)}
        ),
        "/d2": LogDirDescription(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), {}),
    }
    [broker] = log_dirs.described({1: directories}, ["t"])["brokers"]
    assert broker == {
        "broker": 1,
        "logDirs": [
            {"logDir": "/d1", "error": None,
             "partitions": [{"partition": "t-0", "size": 78, "offsetLag": 0, "isFuture": False}]},
            {"logDir": "/d2", "error": "org.apache.kafka.common.errors.KafkaStorageException", "partitions": []},
        ],
    }  # fmt: skip
    everything = log_dirs.described({1: directories}, [])
    assert len(everything["brokers"][0]["logDirs"][0]["partitions"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--describe"], 'Missing required argument "[bootstrap-server]"'),
        (["--bootstrap-server", "h:1"], 'Missing required argument "[describe]"'),
        (["--bootstrap-server", "h:1", "--describe", "--broker-list", "x"], "--broker-list takes broker ids"),
    ],
)
def test_log_dirs_refuses_wrong_usage(arguments, message):
    with pytest.raises(UsageError) as caught:
        log_dirs.main(arguments)
    assert message in str(caught.value)


# ---- kafka-delete-records.sh

ROW = '{"topic": "t", "partition": 0, "offset": 5}'


def test_the_offset_file_is_read():
    text = '{"partitions": [' + ROW + ', {"topic": "t", "partition": 1, "offset": -1}], "version": 1}'
    assert delete_records.parse_offsets(text) == {T0: 5, T1: -1}
    assert delete_records.parse_offsets('{"partitions": []}') == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "not valid JSON"),
        ("[]", "no field `partitions`"),
        ('{"version": 1}', "no field `partitions`"),
        ('{"partitions": [' + ROW + '], "version": 2}', "Not supported version field value 2"),
        ('{"partitions": [' + ROW + "," + ROW + "]}", "contains duplicate topic partitions: t-0"),
        ('{"partitions": [{"topic": "t"}]}', "an entry without `partition`"),
        ('{"partitions": [{"topic": "t", "partition": "0", "offset": 1}]}', 'whose `partition` is "0"'),
        ('{"partitions": [3]}', "an entry without `topic`: 3"),
    ],
)
def test_a_bad_offset_file_is_refused(text, message):
    with pytest.raises(CommandFailed) as caught:
        delete_records.parse_offsets(text)
    assert message in str(caught.value)


def test_deletions_are_told_per_partition():
    results = {T0: 5, T1: KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "too far")}
    assert list(delete_records.lines(results)) == [
        "partition: t-0\tlow_watermark: 5",
        "partition: t-1\terror: org.apache.kafka.common.errors.OffsetOutOfRangeException: too far",
    ]


def test_a_missing_offset_file_is_one_line(tmp_path):
    with pytest.raises(CommandFailed, match=r"Unable to read file .*gone\.json: No such file"):
        delete_records.main(["--bootstrap-server", NOBODY, "--offset-json-file", str(tmp_path / "gone.json")])


# ---- kafka-cluster.sh


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "too few arguments"), (["nope"], "invalid choice: 'nope'"), (["cluster-id", "--what"], "unrecognized")],
)
def test_cluster_refuses_wrong_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        cluster.main(arguments)
    assert caught.value.code == 1
    assert message in capsys.readouterr().err


def test_cluster_needs_a_server(capsys):
    assert cluster.main(["cluster-id"]) == 1
    assert capsys.readouterr().err == "Please specify --bootstrap-server.\n"
