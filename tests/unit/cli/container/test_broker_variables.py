"""Settings of a broker from environment variables: names, secrets by files, what is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.container.broker import check_log_dirs, read_variables, remarks
from kafka_py.cli.container.broker_variables import (
    DATA,
    BrokerVariables,
    bound_listeners,
    broker_settings,
    setting_of,
    variable_of,
)
from kafka_py.cli.container.variables import read_secret

NAMES = [
    ("KAFKA_BROKER_ID", "broker.id"),
    ("KAFKA_ZOOKEEPER_CONNECT", "zookeeper.connect"),
    ("KAFKA_ADVERTISED_LISTENERS", "advertised.listeners"),
    ("KAFKA_LOG_DIRS", "log.dirs"),
    ("KAFKA_LISTENER_NAME_IN__SIDE_SCRAM___SHA___512_SASL_JAAS_CONFIG",
     "listener.name.in_side.scram-sha-512.sasl.jaas.config"),
]  # fmt: skip


def settings(environment: Mapping[str, str], **base: str) -> BrokerVariables:
    return broker_settings(environment, base, lambda variable, path: f"content of {path}")


@pytest.mark.parametrize(("variable", "name"), NAMES)
def test_one_underscore_is_a_dot_two_are_an_underscore_three_a_hyphen(variable: str, name: str) -> None:
    assert setting_of(variable) == name
    assert variable_of(name) == variable


def test_a_second_prefix_means_the_same() -> None:
    assert settings({"KAFKA_CFG_NUM_PARTITIONS": "3"}).settings["num.partitions"] == "3"
    with pytest.raises(ConfigError, match="KAFKA_CFG_NUM_PARTITIONS and KAFKA_NUM_PARTITIONS both set"):
        settings({"KAFKA_CFG_NUM_PARTITIONS": "3", "KAFKA_NUM_PARTITIONS": "4"})


def test_four_underscores_stand_for_nothing() -> None:
    with pytest.raises(ConfigError, match="KAFKA_LOG____DIRS has more than three underscores"):
        settings({"KAFKA_LOG____DIRS": "/data"})


def test_variables_go_over_the_mounted_file_and_empty_ones_are_not_set() -> None:
    base = {"num.partitions": "1", "broker.id": "7"}
    found = settings({"KAFKA_NUM_PARTITIONS": "3", "KAFKA_BROKER_RACK": ""}, **base)
    assert found.settings == {"num.partitions": "3", "broker.id": "7", "log.dirs": DATA}
    assert found.origins == {"num.partitions": "KAFKA_NUM_PARTITIONS"}


def test_logs_are_in_the_volume_unless_another_place_is_named() -> None:
    assert settings({}).settings == {"log.dirs": DATA}
    assert settings({"KAFKA_LOG_DIRS": "/a,/b"}).settings["log.dirs"] == "/a,/b"
    assert "log.dirs" not in settings({"KAFKA_LOG_DIR": "/a"}).settings


def test_what_is_advertised_alone_is_bound_on_all_addresses() -> None:
    advertised = "INSIDE://kafka-1:29092,OUTSIDE://[::1]:9092"
    assert bound_listeners(advertised) == "INSIDE://:29092,OUTSIDE://:9092"
    assert settings({"KAFKA_ADVERTISED_LISTENERS": advertised}).settings["listeners"] == bound_listeners(advertised)
    both = {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://kafka:9092", "KAFKA_LISTENERS": "PLAINTEXT://:9999"}
    assert settings(both).settings["listeners"] == "PLAINTEXT://:9999"


def test_a_secret_is_the_content_of_a_file() -> None:
    found = settings({"KAFKA_SSL_KEY_PASSWORD_FILE": "/run/secrets/key"})
    assert found.settings["ssl.key.password"] == "content of /run/secrets/key"
    with pytest.raises(ConfigError, match="KAFKA_BROKER_ID and KAFKA_BROKER_ID_FILE are both set"):
        settings({"KAFKA_BROKER_ID": "1", "KAFKA_BROKER_ID_FILE": "/id"})


def test_stores_and_their_passwords_are_files_of_the_folder_for_secrets() -> None:
    found = settings({"KAFKA_SSL_KEYSTORE_FILENAME": "k.p12", "KAFKA_SSL_KEYSTORE_CREDENTIALS": "k.txt"}).settings
    assert found["ssl.keystore.location"] == "/etc/kafka/secrets/k.p12"
    assert found["ssl.keystore.password"] == "content of /etc/kafka/secrets/k.txt"


def test_a_secret_ends_with_its_line_and_a_missing_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("se cret \n")
    assert read_secret("KAFKA_X_FILE", str(tmp_path / "password")) == "se cret "
    with pytest.raises(ConfigError, match=r"KAFKA_X_FILE=\S+/absent: that file cannot be read: No such file"):
        read_secret("KAFKA_X_FILE", str(tmp_path / "absent"))


def test_variables_of_java_scripts_and_kubernetes_are_no_settings() -> None:
    found = settings({
        "KAFKA_HEAP_OPTS": "-Xmx1G", "KAFKA_OPTS": "-Djava.security.auth.login.config=/etc/jaas.conf",
        "KAFKA_PORT": "tcp://10.0.0.1:9092", "KAFKA_SERVICE_HOST": "10.0.0.1", "KAFKA_PORT_9092_TCP_ADDR": "10.0.0.1",
        "KAFKA_BROKERS_SERVICE_PORT_CLIENTS": "9092", "KAFKA_PY_EVENT_LOOP": "uvloop", "PATH": "/bin",
    })  # fmt: skip
    assert found.settings == {"log.dirs": DATA}
    assert found.without_effect == ["KAFKA_HEAP_OPTS"]


def test_unknown_names_are_reported_with_the_nearest_known_one() -> None:
    found = settings({
        "KAFKA_ZOOKEEPER_CONNECT": "z", "KAFKA_LOG_RETENTION_HOUR": "1", "KAFKA_HEAP_OPTS": "-Xmx1G",
        "KAFKA_LISTENER_NAME_PLAINTEXT_SSL_CLIENT_AUTH": "none",
    })  # fmt: skip
    assert list(remarks(found)) == [
        "KAFKA_HEAP_OPTS is ignored: there is no Java in this image",
        "KAFKA_LOG_RETENTION_HOUR is ignored: brokers have no setting log.retention.hour; "
        "did you mean log.retention.hours?",
    ]


def test_a_mounted_file_is_read_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    assert read_variables({"KAFKA_BROKER_ID": "1"}, file).settings == {"broker.id": "1", "log.dirs": DATA}
    file.write_text("log.dirs=/logs\nbroker.id=2\n")
    assert read_variables({"KAFKA_BROKER_ID": "1"}, file).settings == {"broker.id": "1", "log.dirs": "/logs"}


def test_one_log_directory_that_may_be_written_to_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: path == str(tmp_path / "b"))
    check_log_dirs({"log.dirs": f"{tmp_path}/a, {tmp_path}/b"})
    check_log_dirs({"log.dirs": f"{tmp_path}/a,{tmp_path}/new"})
    with pytest.raises(CommandFailed, match=r"a cannot be written to\. Give the volume to the user"):
        check_log_dirs({"log.dirs": f"{tmp_path}/a"})
