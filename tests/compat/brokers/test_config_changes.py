"""AlterConfigs and IncrementalAlterConfigs: the same requests have the same outcome on our broker and on Apache's."""

from pathlib import Path
from typing import Any

import pytest

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import LEAST_CLEANER_BYTES, ApacheBroker, Jars
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import ZookeeperServer
from kafka_py.wire.messages import alter_configs, incremental_alter_configs

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER = 2, 4, 8
SETTINGS = {"log.cleaner.dedupe.buffer.size": LEAST_CLEANER_BYTES}
LOG = "kafka.server.KafkaServer"

EDITS: dict[str, tuple[int, str, list[Any]]] = {
    "a value": (TOPIC, "t", [("segment.bytes", SET, "1048576")]),
    "an unknown name": (TOPIC, "t", [("no.such", SET, "1")]),
    "no number": (TOPIC, "t", [("segment.bytes", SET, "x")]),
    "too small": (TOPIC, "t", [("segment.bytes", SET, "1")]),
    "null": (TOPIC, "t", [("segment.bytes", SET, None)]),
    "append": (TOPIC, "t", [("cleanup.policy", APPEND, "compact")]),
    "append rubbish": (TOPIC, "t", [("cleanup.policy", APPEND, "x")]),
    "subtract": (TOPIC, "t", [("cleanup.policy", SUBTRACT, "delete")]),
    "subtract what is not there": (TOPIC, "t", [("cleanup.policy", SUBTRACT, "delete")]),
    "append to a number": (TOPIC, "t", [("segment.bytes", APPEND, "1")]),
    "subtract from a number": (TOPIC, "t", [("segment.bytes", SUBTRACT, "1")]),
    "a name twice": (TOPIC, "t", [("segment.bytes", SET, "1048576"), ("segment.bytes", SET, "1048577")]),
    "no such topic": (TOPIC, "nope", [("segment.bytes", SET, "1048576")]),
    "a topic that cannot be": (TOPIC, "a b", [("segment.bytes", SET, "1048576")]),
    "a topic without name": (TOPIC, "", [("segment.bytes", SET, "1048576")]),
    "delete": (TOPIC, "t", [("segment.bytes", DELETE, None)]),
    "delete what is not set": (TOPIC, "t", [("segment.bytes", DELETE, None)]),
    "delete an unknown name": (TOPIC, "t", [("no.such", DELETE, None)]),
    "nothing": (TOPIC, "t", []),
    "a broker's value": (BROKER, "0", [("log.cleaner.backoff.ms", SET, "20000")]),
    "a broker's fixed value": (BROKER, "0", [("log.dirs", SET, "/x")]),
    "a broker's unknown name": (BROKER, "0", [("no.such", SET, "1")]),
    "a broker's no number": (BROKER, "0", [("log.cleaner.threads", SET, "x")]),
    "a broker's misfit": (BROKER, "0", [("log.cleaner.threads", SET, "2")]),
    "all brokers' value": (BROKER, "", [("log.cleaner.backoff.ms", SET, "20000")]),
    "all brokers' own value": (BROKER, "", [("listener.name.a.ssl.keystore.location", SET, "/x")]),
    "a security setting without listener": (BROKER, "0", [("ssl.keystore.location", SET, "/x")]),
    "a security setting without listener for all": (BROKER, "", [("ssl.keystore.location", SET, "/x")]),
    "a TLS setting without listener": (BROKER, "0", [("ssl.protocol", SET, "TLSv1.2")]),
    "a TLS setting without listener for all": (BROKER, "", [("ssl.protocol", SET, "TLSv1.2")]),
    "all brokers' limit of a listener": (BROKER, "", [("listener.name.plaintext.max.connections", SET, "100")]),
    "all brokers' rate of a listener": (
        BROKER, "", [("listener.name.plaintext.max.connection.creation.rate", SET, "100")],
    ),
    "all brokers' no limit of a listener": (BROKER, "", [("listener.name.plaintext.max.connections", SET, "x")]),
    "no number and the wrong place": (
        BROKER, "", [("listener.name.a.ssl.protocol", SET, "x"), ("log.cleaner.threads", SET, "x")],
    ),
    "an unknown class for a listener": (BROKER, "0", [("listener.name.plaintext.principal.builder.class", SET, "a.B")]),
    "limits of no address": (BROKER, "0", [("max.connections.per.ip.overrides", SET, "abc")]),
    "another broker": (BROKER, "7", [("log.cleaner.backoff.ms", SET, "20000")]),
    "no broker": (BROKER, "abc", [("log.cleaner.backoff.ms", SET, "20000")]),
    "a rate": (BROKER, "0", [("leader.replication.throttled.rate", SET, "1000")]),
    "a level": (LOGGER, "0", [(LOG, SET, "DEBUG")]),
    "no level": (LOGGER, "0", [(LOG, SET, "LOUD")]),
    "a level in small letters": (LOGGER, "0", [(LOG, SET, "debug")]),
    "off": (LOGGER, "0", [(LOG, SET, "OFF")]),
    "no such logger": (LOGGER, "0", [("no.such.logger", SET, "INFO")]),
    "one good logger": (LOGGER, "0", [(LOG, SET, "TRACE"), ("no.such.logger", SET, "INFO")]),
    "no level of its own": (LOGGER, "0", [(LOG, DELETE, None)]),
    "the root's level": (LOGGER, "0", [("root", SET, "INFO")]),
    "no level for the root": (LOGGER, "0", [("root", DELETE, None)]),
    "append to a level": (LOGGER, "0", [(LOG, APPEND, "INFO")]),
    "another broker's logger": (LOGGER, "7", [(LOG, SET, "INFO")]),
    "nobody's logger": (LOGGER, "", [(LOG, SET, "INFO")]),
    "null level": (LOGGER, "0", [(LOG, SET, None)]),
    "an unknown type": (3, "x", [("a", SET, "b")]),
}
REPLACEMENTS = {
    "values": (TOPIC, "t", {"segment.bytes": "1048576", "cleanup.policy": "compact"}),
    "no number": (TOPIC, "t", {"segment.bytes": "x"}),
    "an unknown name": (TOPIC, "t", {"no.such": "1"}),
    "no such topic": (TOPIC, "nope", {"segment.bytes": "1048576"}),
    "nothing": (TOPIC, "t", {}),
    "a broker's value": (BROKER, "0", {"log.cleaner.backoff.ms": "20000"}),
    "a broker's fixed value": (BROKER, "0", {"log.dirs": "/x"}),
    "all brokers' value": (BROKER, "", {"log.cleaner.backoff.ms": "20000"}),
    "all brokers' nothing": (BROKER, "", {}),
    "a level": (LOGGER, "0", {LOG: "INFO"}),
    "an unknown type": (3, "0", {"a": "b"}),
}
OWN_WORDS = ("no number", "too small", "append rubbish", "a topic without name", "a broker's no number",
             "a broker's misfit", "a security setting without listener", "no level", "a level in small letters",
             "off", "a security setting without listener for all", "all brokers' no limit of a listener",
             "no number and the wrong place", "an unknown class for a listener",
             "limits of no address")  # fmt: skip
"""What is wrong with a value we say in our own words; the code is the same."""


def outcomes(client: WireClient) -> dict[str, tuple[int, str | None]]:
    """Each request is checked first and carried out then: both must say the same."""
    found = {}
    for name, (kind, resource, edits) in EDITS.items():
        for validate_only in (True, False):
            configs = [
                incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
                for key, operation, value in edits
            ]
            found[f"edit: {name}: {validate_only}"] = _ask(client, incremental_alter_configs, kind, resource, configs,
                                                           validate_only)  # fmt: skip
    for name, (kind, resource, wanted) in REPLACEMENTS.items():
        for validate_only in (True, False):
            given = [alter_configs.AlterableConfig(name=key, value=value) for key, value in wanted.items()]
            key = f"replace: {name}: {validate_only}"
            found[key] = _ask(client, alter_configs, kind, resource, given, validate_only)
    return found


def _ask(
    client: WireClient, api: Any, kind: int, resource: str, configs: list[Any], validate_only: bool
) -> tuple[int, str | None]:
    make = api.IncrementalAlterConfigsRequest if api is incremental_alter_configs else api.AlterConfigsRequest
    one = api.AlterConfigsResource(resource_type=kind, resource_name=resource, configs=configs)
    answer = client.ask(make(resources=[one], validate_only=validate_only), 1).responses[0]
    return answer.error_code, answer.error_message


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_changes_have_the_same_outcome_on_both_brokers(
    apache_kafka: Jars, zookeeper: ZookeeperServer, tmp_path: Path
) -> None:
    said = []
    for make in (ApacheBroker, BrokerProcess):
        folder = tmp_path / make.__name__
        with make(folder, f"{zookeeper.connect}/{make.__name__}", settings=SETTINGS) as broker:
            if isinstance(broker, BrokerProcess):
                broker.create_topic("t")
            else:
                topic = ["--bootstrap-server", broker.bootstrap, "--create", "--topic", "t"]
                assert apache_kafka.run("kafka.admin.TopicCommand", *topic).exit_code == 0
            with WireClient(broker.bootstrap) as client:
                said.append(outcomes(client))
    classic, ours = said
    assert {name: code for name, (code, _) in ours.items()} == {name: code for name, (code, _) in classic.items()}
    for name, (_, text) in ours.items():
        if name.split(": ")[1] not in OWN_WORDS:
            assert text == classic[name][1], name
