"""kafka-configs.sh as a user runs it, against a broker's process."""

import json
import subprocess

from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.processes import ROOT


def configs(broker: BrokerProcess, line: str) -> tuple[int, str, str]:
    command = [str(ROOT / "bin" / "kafka-configs.sh"), "--bootstrap-server", broker.bootstrap, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def test_settings_of_a_topic(module_broker: BrokerProcess) -> None:
    module_broker.create_topic("settings")
    wanted = "segment.bytes=1048576,cleanup.policy=[compact,delete]"
    done = configs(module_broker, f"--alter --topic settings --add-config {wanted}")
    assert done == (0, "Completed updating config for topic settings.\n", "")
    code, out, _ = configs(module_broker, "--describe --topic settings")
    assert code == 0
    assert out == (
        "Dynamic configs for topic settings are:\n"
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
        "  segment.bytes=1048576 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.bytes=1048576, "
        "DEFAULT_CONFIG:log.segment.bytes=1073741824}\n"
    )
    assert len(configs(module_broker, "--describe --topic settings --all")[1].splitlines()) > 20
    done = configs(module_broker, "--alter --topic settings --delete-config nope")
    assert done == (1, "", "Invalid config(s): nope\n")
    assert configs(module_broker, "--alter --topic settings --delete-config segment.bytes,cleanup.policy")[0] == 0
    assert configs(module_broker, "--describe --topic settings")[1] == "Dynamic configs for topic settings are:\n"
    code, _, err = configs(module_broker, "--alter --topic settings --add-config no.such=1")
    assert code == 1
    assert "org.apache.kafka.common.errors.InvalidConfigurationException: Unknown topic config name: no.such" in err


def test_settings_of_brokers(module_broker: BrokerProcess) -> None:
    name = "log.cleaner.backoff.ms"
    assert configs(module_broker, f"--alter --broker-defaults --add-config {name}=20001")[0] == 0
    assert configs(module_broker, f"--alter --broker 0 --add-config {name}=20000")[0] == 0
    module_broker.wait_for(
        lambda: "DYNAMIC_BROKER_CONFIG" in configs(module_broker, "--describe --broker 0")[1], what="the new settings"
    )
    assert configs(module_broker, "--describe --entity-type brokers")[1] == (
        "Dynamic configs for broker 0 are:\n"
        f"  {name}=20000 sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:{name}=20000, "
        f"DYNAMIC_DEFAULT_BROKER_CONFIG:{name}=20001, DEFAULT_CONFIG:{name}=15000}}\n"
        "Default configs for brokers in the cluster are:\n"
        f"  {name}=20001 sensitive=false synonyms={{DYNAMIC_DEFAULT_BROKER_CONFIG:{name}=20001}}\n"
    )
    assert configs(module_broker, f"--alter --broker 0 --delete-config {name}")[0] == 0
    assert configs(module_broker, f"--alter --broker-defaults --delete-config {name}")[0] == 0
    code, _, err = configs(module_broker, "--alter --broker 0 --add-config log.dirs=/x")
    assert code == 1 and "Cannot update these configs dynamically: Set(log.dirs)" in err


def test_levels_of_loggers(module_broker: BrokerProcess) -> None:
    name = "kafka.server.KafkaServer"
    assert configs(module_broker, f"--alter --broker-logger 0 --add-config {name}=WARN") == (
        0, "Completed updating config for broker-logger 0.\n", "",
    )  # fmt: skip
    out = configs(module_broker, "--describe --broker-logger 0")[1].splitlines()
    assert out[0] == "Dynamic configs for broker-logger 0 are:"
    assert f"  {name}=WARN sensitive=false synonyms={{}}" in out
    assert configs(module_broker, f"--alter --broker-logger 0 --delete-config {name}")[0] == 0
    assert configs(module_broker, "--alter --broker-logger 0 --delete-config no.such.logger") == (
        1, "", "Invalid broker logger(s): no.such.logger\n",
    )  # fmt: skip


def test_quotas_as_documents(module_broker: BrokerProcess) -> None:
    scram = "SCRAM-SHA-256=[iterations=4096,password=x]"
    assert configs(module_broker, f"--alter --user documented --add-config {scram}")[0] == 0
    assert configs(module_broker, "--alter --user documented --client c --add-config producer_byte_rate=10")[0] == 0
    assert configs(module_broker, "--alter --user-defaults --add-config consumer_byte_rate=5")[0] == 0
    code, out, _ = configs(module_broker, "--describe --entity-type users --output json")
    assert code == 0
    rows = json.loads(out)
    assert {"entity": {"user": None}, "quotas": {"consumer_byte_rate": 5.0}} in rows
    credentials = {"SCRAM-SHA-256": 4096}
    assert {"entity": {"user": "documented"}, "quotas": {}, "scram_credentials": credentials} in rows
    code, out, _ = configs(module_broker, "--describe --user documented --client c --output json")
    assert (code, json.loads(out)) == (
        0, [{"entity": {"user": "documented", "client-id": "c"}, "quotas": {"producer_byte_rate": 10.0}}]
    )  # fmt: skip
    assert configs(module_broker, "--alter --user-defaults --delete-config consumer_byte_rate")[0] == 0
