"""Settings of a ZooKeeper server from environment variables, and the files that are written with them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.container.variables import read_secret
from kafka_py.cli.container.zookeeper import write_files
from kafka_py.cli.container.zookeeper_variables import ZookeeperVariables, zookeeper_settings

SERVERS = "server.1=zoo1:2888:3888;2181 server.2=zoo2:2888:3888;0.0.0.0:2182"


def settings(environment: Mapping[str, str]) -> ZookeeperVariables:
    return zookeeper_settings(environment, read_secret)


def test_a_server_alone_has_defaults_that_hold_in_a_container() -> None:
    found = settings({"ZOO_MY_ID": "1", "PATH": "/bin"})
    assert found.number is None and found.ignored == []
    assert found.settings["dataDir"] == "/var/lib/zookeeper" and found.settings["clientPort"] == "2181"
    assert "dataLogDir" not in found.settings
    assert not any(name.startswith("server.") for name in found.settings)


def test_a_member_of_an_ensemble_knows_the_others_and_its_own_port() -> None:
    found = settings({"ZOO_MY_ID": "2", "ZOO_SERVERS": SERVERS, "ZOO_TICK_TIME": "500"})
    assert found.number == 2
    assert found.settings["server.1"] == "zoo1:2888:3888" and found.settings["server.2"] == "zoo2:2888:3888"
    assert found.settings["clientPort"] == "2182" and found.settings["tickTime"] == "500"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ZOO_SERVERS": SERVERS}, "lists the servers 1, 2: set ZOO_MY_ID"),
        ({"ZOO_SERVERS": SERVERS, "ZOO_MY_ID": "3"}, "ZOO_MY_ID=3 is not among the servers 1, 2"),
        ({"ZOO_SERVERS": "zoo1:2888:3888"}, "'zoo1:2888:3888' does not have the form"),
        ({"ZOO_CFG_EXTRA": "skipACL"}, "word 1 does not have the form name=value"),
        ({"ZOO_CFG_EXTRA": "ssl.keyStore.password=my secret"}, "^[^y]*word 2 does not have the form name=value$"),
    ],
)
def test_a_wrong_variable_is_named(environment: Mapping[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        settings(environment)


def test_further_settings_are_taken_and_unknown_variables_reported() -> None:
    found = settings({"ZOO_CFG_EXTRA": "skipACL=yes snapCount=10", "ZOO_TICKTIME": "500"})
    assert (found.settings["skipACL"], found.settings["snapCount"], found.ignored) == ("yes", "10", ["ZOO_TICKTIME"])


def test_the_files_are_in_the_data_directory_whose_number_stays(tmp_path: Path) -> None:
    given = {"ZOO_SERVERS": SERVERS, "ZOO_DATA_DIR": str(tmp_path / "data")}
    first = settings({**given, "ZOO_MY_ID": "1"})
    assert read_properties(write_files(first)) == first.settings
    assert write_files(first).stat().st_mode & 0o777 == 0o600  # ZOO_CFG_EXTRA may have passwords of stores
    assert (tmp_path / "data" / "myid").read_text() == "1\n"
    write_files(first)
    with pytest.raises(CommandFailed, match="has the data of server 1, but ZOO_MY_ID is 2"):
        write_files(settings({**given, "ZOO_MY_ID": "2"}))
