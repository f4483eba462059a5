"""DescribeConfigs and DescribeLogDirs against a whole broker; settings that change while it runs."""

from collections.abc import Sequence
from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafka_py.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest

TOPIC, BROKER, LOGGER = 2, 4, 8
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5


async def describe(
    broker: LocalBroker, kind: int, name: str, keys: Sequence[str] | None = None, version: int = 4, **fields: Any
) -> Any:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
    )
    return (await broker.ask(DescribeConfigsRequest(resources=[resource], **fields), version)).results[0]


def by_name(result: Any) -> dict[str, Any]:
    assert result.error_code == 0, result.error_message
    return {entry.name: entry for entry in result.configs}


@on_broker(log_segment_bytes=5000)
async def test_a_topics_settings_tell_where_they_come_from(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 3: defaults, sources, synonyms, read-only and sensitive flags."""
    await broker.create_topic("t", configs={"max.message.bytes": "2000"})
    got = by_name(await describe(broker, TOPIC, "t", include_synonyms=True))
    assert len(got) == 26
    own, inherited, default = got["max.message.bytes"], got["segment.bytes"], got["retention.bytes"]
    assert (own.value, own.config_source) == ("2000", DYNAMIC_TOPIC)
    assert [(row.name, row.value, row.source) for row in own.synonyms] == [
        ("max.message.bytes", "2000", DYNAMIC_TOPIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]
    assert (inherited.value, inherited.config_source) == ("5000", STATIC)
    assert (default.value, default.config_source) == ("-1", DEFAULT)
    assert not (own.read_only or own.is_sensitive)
    # Only the setting's first name counts among the broker's: Apache Kafka 2.8.2 shows no synonym for times.
    assert (got["retention.ms"].value, got["retention.ms"].synonyms) == ("604800000", [])


@on_broker()
async def test_v0_says_is_default_and_v3_type_and_documentation(broker: LocalBroker) -> None:
    await broker.create_topic("t", configs={"segment.bytes": "2000"})
    old = by_name(await describe(broker, TOPIC, "t", version=0))
    assert (old["segment.bytes"].is_default, old["segment.ms"].is_default) == (False, True)
    for version in range(5):
        fields = {"include_documentation": True} if version >= 3 else {}
        entry = by_name(await describe(broker, TOPIC, "t", ["segment.bytes"], version, **fields))["segment.bytes"]
        assert entry.value == "2000"
        if version >= 3:
            assert entry.config_type == 3
            assert entry.documentation


@on_broker(password_encoder_secret="very secret", no_such_setting=1, num_io_threads=4)
async def test_the_brokers_settings_hide_secrets_and_mark_what_cannot_change(broker: LocalBroker) -> None:
    got = by_name(await describe(broker, BROKER, "0", include_synonyms=True))
    assert (got["broker.id"].value, got["broker.id"].config_source, got["broker.id"].read_only) == ("0", STATIC, True)
    assert (got["num.io.threads"].value, got["num.io.threads"].read_only) == ("4", False)
    secret = got["password.encoder.secret"]
    assert (secret.value, secret.is_sensitive, [row.value for row in secret.synonyms]) == (None, True, [None])
    unknown = got["no.such.setting"]
    assert (unknown.value, unknown.is_sensitive, unknown.read_only) == (None, True, True)
    assert got["log.cleaner.io.max.bytes.per.second"].value == "1.7976931348623157E308"


@on_broker()
async def test_what_cannot_be_described_is_an_error_of_that_resource(broker: LocalBroker) -> None:
    for kind, name, code in (
        (TOPIC, "none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "bad name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "7", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (BROKER, "\N{SUPERSCRIPT TWO}", ErrorCode.INVALID_REQUEST),
        (BROKER, "9" * 5000, ErrorCode.INVALID_REQUEST),
        (LOGGER, "7", ErrorCode.INVALID_REQUEST),
        (1, "x", ErrorCode.INVALID_REQUEST),
    ):
        result = await describe(broker, kind, name)
        assert (result.error_code, result.resource_name, result.configs) == (code, name, [])
        assert bool(result.error_message) == (code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


@on_broker()
async def test_a_resource_that_is_named_often_is_described_once(broker: LocalBroker) -> None:
    asked = [
        DescribeConfigsResource(resource_type=BROKER, resource_name=name, configuration_keys=keys)
        for name in ("0", "0", "00", "0" * 5000)
        for keys in (None, [], ["log.dirs"], ["log.dirs"])
    ]
    results = (await broker.ask(DescribeConfigsRequest(resources=asked), 4)).results
    assert [len(result.configs) > 1 for result in results] == [True, False]
    assert [config.name for config in results[1].configs] == ["log.dirs"]


@on_broker()
async def test_loggers_have_levels(broker: LocalBroker) -> None:
    """Under the classic broker's names: ours hang below those, and are not shown (KIP-412)."""
    got = by_name(await describe(broker, LOGGER, "0"))
    assert got["root"].value in ("DEBUG", "INFO", "WARN", "ERROR", "FATAL")
    assert got["kafka.server.KafkaServer"].config_source == 6
    assert {"kafka.controller.KafkaController", "state.change.logger", "kafka.request.logger"} < set(got)
    assert not [name for name in got if name.startswith(("kafka_py", "kazoo"))]


@on_broker()
async def test_topic_settings_changed_in_zookeeper_apply_at_once(broker: LocalBroker) -> None:
    """docs/reference/pitfalls.md, section 3: max.message.bytes changes at run time apply at once."""
    await broker.create_topic("t")
    await broker.store.configs.change("topics/t", {"max.message.bytes": "100"})
    log = next(iter(broker.server.node.log_dirs.all_logs()))
    await broker.until(lambda: log.config.max_message_bytes == 100)
    assert (await broker.produce("t", batch(b"x" * 200))).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert by_name(await describe(broker, TOPIC, "t"))["max.message.bytes"].config_source == DYNAMIC_TOPIC
    await broker.store.configs.change("topics/t", {})
    await broker.until(lambda: log.config.max_message_bytes > 100)
    assert (await broker.produce("t", batch(b"x" * 200))).error_code == 0


@on_broker()
async def test_broker_settings_changed_in_zookeeper_apply_at_once_and_after_a_restart(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.store.configs.change("brokers/<default>", {"message.max.bytes": "100"})
    log = next(iter(broker.server.node.log_dirs.all_logs()))
    await broker.until(lambda: log.config.max_message_bytes == 100)
    got = by_name(await describe(broker, BROKER, "0", ["message.max.bytes"]))["message.max.bytes"]
    assert (got.value, got.config_source) == ("100", DYNAMIC_DEFAULT)
    default = by_name(await describe(broker, BROKER, ""))
    assert {name: entry.value for name, entry in default.items()} == {"message.max.bytes": "100"}
    await broker.store.configs.change("brokers/0", {"message.max.bytes": "300"})
    await broker.until(lambda: log.config.max_message_bytes == 300)
    await broker.stop()
    await broker.start()
    assert by_name(await describe(broker, BROKER, "0"))["message.max.bytes"].config_source == DYNAMIC_BROKER
    assert next(iter(broker.server.node.log_dirs.all_logs())).config.max_message_bytes == 300


# DescribeLogDirs


@on_broker()
async def test_log_dirs_tell_sizes_of_all_logs_or_of_those_asked_for(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    await broker.produce("t", batch(), partition=1)
    for version in range(3):
        [directory] = (await broker.ask(DescribeLogDirsRequest(topics=None), version)).results
        assert (directory.error_code, directory.log_dir) == (0, f"{broker.folder}/logs")
        [topic] = directory.topics
        sizes = {row.partition_index: row.partition_size for row in topic.partitions}
        assert sizes == {0: 0, 1: len(batch())}
        assert all(row.offset_lag == 0 and not row.is_future_key for row in topic.partitions)
    wanted = [DescribableLogDirTopic(topic=topic, partition_index=[0]) for topic in ("t", "u")]
    [directory] = (await broker.ask(DescribeLogDirsRequest(topics=wanted), 2)).results
    assert [[row.partition_index for row in topic.partitions] for topic in directory.topics] == [[0]]


@on_broker(log_retention_minutes="7")
async def test_a_time_in_several_units_lists_all_of_them_as_synonyms(broker: LocalBroker) -> None:
    def synonyms(row: Any) -> list[tuple[str, str | None, int]]:
        return [(each.name, each.value, each.source) for each in row.synonyms]

    got = {row.name: row for row in (await describe(broker, BROKER, "0", include_synonyms=True)).configs}
    hours = ("log.retention.hours", "168", DEFAULT)
    assert synonyms(got["log.retention.ms"]) == []  # nobody set it: what decides has another name
    assert synonyms(got["log.retention.minutes"]) == [("log.retention.minutes", "7", STATIC), hours]
    assert synonyms(got["log.retention.hours"]) == [hours]
    await broker.store.configs.change("brokers/0", {"log.retention.ms": "99000", "log.roll.ms": "88000"})
    await broker.until(lambda: broker.server.node.config.log_retention_ms == 99000)
    got = {row.name: row for row in (await describe(broker, BROKER, "0", include_synonyms=True)).configs}
    assert synonyms(got["log.retention.ms"]) == [
        ("log.retention.ms", "99000", DYNAMIC_BROKER), ("log.retention.minutes", "7", STATIC), hours,
    ]  # fmt: skip
    rolls = [("log.roll.ms", "88000", DYNAMIC_BROKER), ("log.roll.hours", "168", DEFAULT)]
    assert synonyms(got["log.roll.ms"]) == rolls


@on_broker()
async def test_settings_are_listed_as_a_scala_hash_table_lists_them(broker: LocalBroker) -> None:
    """The order that Apache Kafka 2.8.2 answered with; clients print settings in it."""
    await broker.create_topic("t")
    result = await describe(broker, TOPIC, "t")
    assert result.error_message == ""
    names = [row.name for row in result.configs]
    assert names[:4] == [
        "compression.type", "leader.replication.throttled.replicas", "message.downconversion.enable",
        "min.insync.replicas",
    ]  # fmt: skip
    assert names[-2:] == ["message.timestamp.difference.max.ms", "segment.index.bytes"]
