"""kafka-configs.sh: which options make sense together, and how settings are printed."""

import argparse

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.cli import configs
from kafka_py.cli.common.command import Refused, UsageError
from kafka_py.cli.config_admin.entities import Changes, Entity
from kafka_py.cli.configs import changes_of, entity_of, line_of
from kafka_py.clients.admin.resources import (
    AlterConfig,
    AlterOperation,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
    ConfigSynonym,
)
from kafka_py.clients.admin.results import Results


def parsed(line: str) -> argparse.Namespace:
    return configs.parser().parse(["--bootstrap-server", "b:1", *line.split()])


@pytest.mark.parametrize(
    ("line", "entity"),
    [
        ("--describe --entity-type topics --entity-name t", Entity("topics", "t")),
        ("--describe --topic t", Entity("topics", "t")),
        ("--describe --entity-type topics", Entity("topics", None)),
        ("--describe --entity-type brokers --entity-default", Entity("brokers", "")),
        ("--describe --broker-defaults", Entity("brokers", "")),
        ("--alter --broker 0", Entity("brokers", "0")),
        ("--alter --broker-logger 0", Entity("broker-loggers", "0")),
        ("--describe --entity-type topics --entity-name t --entity-name u", Entity("topics", "t")),
    ],
)
def test_entities(line: str, entity: Entity) -> None:
    assert entity_of(parsed(line)) == entity


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--describe", "At least one entity type must be specified"),
        ("--describe --topic t --entity-type topics", "Duplicate entity type(s) specified: topics"),
        ("--describe --topic t --broker 0", "Only 'users' and 'clients' entity types may be specified together"),
        ("--describe --topic t --entity-default", "--entity-{type,name,default} should not be used"),
        ("--describe --entity-type nonsense", "Invalid entity type nonsense, the entity type must be one of"),
        ("--describe --broker x", "The entity name for brokers must be a valid integer broker id, but it is: x"),
        ("--describe --entity-type broker-loggers", "must be specified with --describe of broker-loggers"),
        ("--alter --entity-type topics", "an entity name must be specified with --alter of topics"),
        ("--alter --entity-type topics --entity-default", "an entity name must be specified with --alter of topics"),
        ("--alter --entity-type brokers", "an entity-name or default entity must be specified"),
    ],
)
def test_entities_that_make_no_sense(line: str, says: str) -> None:
    with pytest.raises(Refused) as error:
        entity_of(parsed(line))
    assert says in str(error.value)


def test_brackets_protect_commas() -> None:
    options = parsed("--alter --topic t --add-config a=1,b=[x,y],c=,d=[e=f] --delete-config g,h")
    assert changes_of(options) == Changes({"a": "1", "b": "x,y", "c": "", "d": "e=f"}, ["g", "h"])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--alter --topic t", "At least one of --add-config, --add-config-file, or --delete-config"),
        ("--alter --topic t --add-config a=b --add-config-file f", "Only one of --add-config or --add-config-file"),
        ("--alter --topic t --add-config a", 'must be in the format "key=val"'),
    ],
)
def test_changes_that_make_no_sense(line: str, says: str) -> None:
    with pytest.raises(Refused) as error:
        changes_of(parsed(line))
    assert says in str(error.value)


@pytest.mark.parametrize("actions", ["", "--describe --alter"])
def test_exactly_one_action(actions: str) -> None:
    with pytest.raises(UsageError, match="exactly one action: --describe, --alter"):
        configs.main(["--bootstrap-server", "b:1", "--topic", "t", *actions.split()])


def test_without_a_broker_there_is_nothing_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert configs.main(["--describe", "--topic", "t"]) == 1
    assert "One of the required --bootstrap-server or --zookeeper" in capsys.readouterr().err


def test_a_setting_is_printed_with_all_the_places_it_may_come_from() -> None:
    synonyms = (
        ConfigSynonym("segment.bytes", "1048576", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ConfigSynonym("log.segment.bytes", None, ConfigSource.DEFAULT_CONFIG),
    )
    entry = ConfigEntry("segment.bytes", "1048576", ConfigSource.DYNAMIC_TOPIC_CONFIG, synonyms=synonyms)
    assert line_of(entry) == (
        "segment.bytes=1048576 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.bytes=1048576, "
        "DEFAULT_CONFIG:log.segment.bytes=null}"
    )
    secret = ConfigEntry("p", None, ConfigSource.STATIC_BROKER_CONFIG, is_sensitive=True)
    assert line_of(secret) == "p=null sensitive=true synonyms={}"


class Admin:
    """An admin client of one broker whose settings the test gives."""

    def __init__(self, *entries: ConfigEntry) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.asked: list[object] = []

    def describe_configs(self, resources: list[ConfigResource], **_: object) -> Results[ConfigResource, object]:
        return Results({resources[0]: self.entries})

    def alter_configs(self, configs: object, **_: object) -> Results[object, None]:
        self.asked.append(configs)
        return Results()

    def incremental_alter_configs(self, changes: object, **_: object) -> Results[object, None]:
        self.asked.append(changes)
        return Results()


OWN = ConfigEntry("a", "1", ConfigSource.DYNAMIC_BROKER_CONFIG)
SHARED = ConfigEntry("b", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
SECRET = ConfigEntry("s", None, ConfigSource.DYNAMIC_BROKER_CONFIG, is_sensitive=True)


def test_a_broker_s_settings_are_sent_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    admin = Admin(OWN, SHARED)
    configs.alter(admin, Entity("brokers", "0"), Changes({"c": "3"}, []))  # type: ignore[arg-type]
    assert admin.asked == [{ConfigResource(ConfigResourceType.BROKER, "0"): {"a": "1", "c": "3"}}]
    assert capsys.readouterr().out == "Completed updating config for broker 0.\n"
    configs.alter(admin, Entity("brokers", ""), Changes({}, ["b"]))  # type: ignore[arg-type]
    assert admin.asked[1] == {ConfigResource(ConfigResourceType.BROKER, ""): {}}
    assert capsys.readouterr().out == "Completed updating default config for brokers in the cluster.\n"


def test_secrets_must_be_given_again() -> None:
    admin = Admin(OWN, SECRET)
    with pytest.raises(Refused, match=r"All sensitive broker config entries .* missing entries: Set\(s\)"):
        configs.alter(admin, Entity("brokers", "0"), Changes({"c": "3"}, []))  # type: ignore[arg-type]
    configs.alter(admin, Entity("brokers", "0"), Changes({"s": "given"}, []))  # type: ignore[arg-type]
    assert admin.asked == [{ConfigResource(ConfigResourceType.BROKER, "0"): {"a": "1", "s": "given"}}]


def test_a_topic_s_settings_are_sent_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    admin = Admin(ConfigEntry("a", "1", ConfigSource.DYNAMIC_TOPIC_CONFIG), SHARED)
    configs.alter(admin, Entity("topics", "t"), Changes({"c": "3"}, ["a"]))  # type: ignore[arg-type]
    edits = [AlterConfig("c", "3"), AlterConfig("a", None, AlterOperation.DELETE)]
    assert admin.asked == [{ConfigResource(ConfigResourceType.TOPIC, "t"): edits}]
    with pytest.raises(Refused, match=r"Invalid config\(s\): b"):
        configs.alter(admin, Entity("topics", "t"), Changes({}, ["b"]))  # type: ignore[arg-type]


def test_loggers_must_be_known() -> None:
    admin = Admin(ConfigEntry("kafka.log.Log", "INFO", ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG))
    with pytest.raises(Refused, match=r"Invalid broker logger\(s\): x,y"):
        configs.alter(admin, Entity("broker-loggers", "0"), Changes({"y": "INFO"}, ["x"]))  # type: ignore[arg-type]
    configs.alter(admin, Entity("broker-loggers", "0"), Changes({"kafka.log.Log": "INFO"}, []))  # type: ignore[arg-type]
    assert len(admin.asked) == 1


def test_the_broker_s_own_word_is_printed_as_the_classic_tool_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing:
        def __init__(self, _: object) -> None: ...

        def __enter__(self) -> "Failing":
            return self

        def __exit__(self, *_: object) -> None: ...

        def describe_configs(self, *_: object, **__: object) -> None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")

    monkeypatch.setattr("kafka_py.clients.admin.client.AdminClient", Failing)
    assert configs.main(["--bootstrap-server", "b:1", "--describe", "--topic", "t"]) == 1
    out, err = capsys.readouterr()
    assert out == "Dynamic configs for topic t are:\n"
    assert err.splitlines() == [
        "Error while executing config command with args '--bootstrap-server b:1 --describe --topic t'",
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: no such topic",
    ]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["--add-config", "SCRAM-SHA-256=[iterations=8192,password=hun]ter2]"], "--add-config SCRAM-SHA-256=[hidden]"),
        (["--add-config=listener.name.a.ssl.key.password=hunter2,log.cleaner.threads=2"],
         "--add-config=listener.name.a.ssl.key.password=[hidden],log.cleaner.threads=2"),
        (["--add-config", "com.example.token=hunter2"], "--add-config com.example.token=[hidden]"),
        (["--add-config", "retention.ms=1,producer_byte_rate=[2],connection_creation_rate=3"],
         "--add-config retention.ms=1,producer_byte_rate=[2],connection_creation_rate=3"),
    ],
)  # fmt: skip
def test_an_error_repeats_the_command_line_without_passwords(
    given: list[str], shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Failing:
        def __init__(self, _: object) -> None:
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    monkeypatch.setattr("kafka_py.clients.admin.client.AdminClient", Failing)
    common = ["--bootstrap-server", "b:1", "--alter", "--user", "alice"]
    assert configs.main([*common, *given]) == 1
    err = capsys.readouterr().err.splitlines()
    assert err[0] == f"Error while executing config command with args '{' '.join(common)} {shown}'"
    assert "hun" not in "".join(err)

def test_settings_are_listed_in_the_order_of_a_java_hash_map() -> None:
    names = ["retention.ms", "segment.bytes", "cleanup.policy"]
    assert configs.in_hash_order(names) == ["cleanup.policy", "retention.ms", "segment.bytes"]
    assert configs.in_hash_order(list(reversed(names))) == ["cleanup.policy", "segment.bytes", "retention.ms"]


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("--zookeeper z:1", "Cannot read the properties file /tls.properties"),
        ("--bootstrap-server b:1", "--zk-tls-config-file is about the connection of --zookeeper"),
    ],
)
def test_tls_settings_for_zookeeper_that_cannot_be_used_are_refused_with_a_reason(
    where: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"{where} --zk-tls-config-file /tls.properties --describe --entity-type topics"
    assert configs.main(line.split()) == 1
    assert says in "".join(capsys.readouterr())
