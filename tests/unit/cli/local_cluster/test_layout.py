"""What a cluster's folder says of it, and what is refused there."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster import layout
from kafka_py.cli.local_cluster.layout import LocalCluster

THREE = LocalCluster((9092, 9093, 9094), zookeeper_port=2181)


def test_the_folder_is_named_by_a_variable_or_among_the_user_s_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert layout.default_folder({}) == Path("/home/me/.local/share/kafka_py/cluster")
    assert layout.default_folder({"XDG_DATA_HOME": "/x"}) == Path("/x/kafka_py/cluster")
    assert layout.default_folder({"KAFKA_PY_DATA": "/data", "XDG_DATA_HOME": "/x"}) == Path("/data")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    assert layout.read(tmp_path) is None
    for cluster in (THREE, LocalCluster((1,), zookeeper="zoo:2181/chroot"), LocalCluster((1,), 2, None, "SSL")):
        layout.write(tmp_path, cluster)
        assert layout.read(tmp_path) == cluster
    assert [path.name for path in tmp_path.iterdir()] == [layout.FILE]


def test_a_cluster_of_an_earlier_version_is_plaintext(tmp_path: Path) -> None:
    (tmp_path / layout.FILE).write_text('{"ports": [9092], "zookeeper_port": 2181, "zookeeper": null}')
    assert layout.read_existing(tmp_path) == LocalCluster((9092,), 2181)
    assert layout.client_settings(tmp_path, LocalCluster((9092,), 2181)) == {}


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").touch()
    with pytest.raises(CommandFailed, match=r"not empty and has no cluster of kafka-py: choose another .* --data"):
        layout.read(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"ports": 1, "zookeeper_port": 1, "zookeeper": null}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / layout.FILE).write_text(text)
    with pytest.raises(CommandFailed, match=r"cluster\.json cannot be read"):
        layout.read(tmp_path)


def test_where_there_is_no_cluster_the_error_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="make one with kafka-py up"):
        layout.read_existing(tmp_path / "none")


def test_processes_and_their_ports() -> None:
    assert THREE.names == ["zookeeper", "broker-0", "broker-1", "broker-2"]
    assert [THREE.port_of(name) for name in THREE.names] == [2181, 9092, 9093, 9094]
    assert THREE.bootstrap_servers == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
    assert THREE.zookeeper_connect == "127.0.0.1:2181"
    elsewhere = LocalCluster((9092,), zookeeper="zoo:2181/a")
    assert (elsewhere.names, elsewhere.zookeeper_connect) == (["broker-0"], "zoo:2181/a")


@pytest.mark.parametrize(
    ("brokers", "replicas", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")]
)
def test_internal_topics_are_on_as_many_brokers_as_there_are_up_to_three(
    tmp_path: Path, brokers: int, replicas: str, in_sync: str
) -> None:
    settings = layout.broker_settings(LocalCluster(tuple(range(brokers)), 1), tmp_path, 0)
    assert settings["offsets.topic.replication.factor"] == settings["default.replication.factor"] == replicas
    assert settings["transaction.state.log.min.isr"] == in_sync


def test_property_files_are_the_user_s_once_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "broker-0" / "server.properties"
    layout.make_folders(tmp_path, THREE, {"num.partitions": "4"})
    assert read_properties(path)["num.partitions"] == "4"
    path.write_text("broker.id=0\nnum.partitions=9\n")
    layout.make_folders(tmp_path, THREE, {})
    assert read_properties(path)["num.partitions"] == "9"
    layout.make_folders(tmp_path, THREE, {"num.partitions": "5"})
    assert read_properties(path)["num.partitions"] == "5"


def test_security_replaces_that_of_another_protocol_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "broker-0" / "server.properties"
    cluster = LocalCluster((9092,), 2181)
    layout.make_folders(tmp_path, cluster, {})
    path.write_text(path.read_text() + "num.partitions=9\n")
    secured = replace(cluster, protocol="SSL")
    layout.make_folders(tmp_path, secured, {}, {"ssl.client.auth": "required", "super.users": "User:a"})
    found = read_properties(path)
    assert (found["num.partitions"], found["ssl.client.auth"]) == ("9", "required")
    assert found["listeners"] == "SSL://127.0.0.1:9092"
    closed = (path, path.parent, tmp_path / "zookeeper")
    assert [stat.S_IMODE(each.stat().st_mode) for each in closed] == [0o600, 0o700, 0o700]
    layout.make_folders(tmp_path, secured, {"num.partitions": "5"})
    assert read_properties(path)["super.users"] == "User:a", "settings that are set do not open a cluster"
    layout.make_folders(tmp_path, cluster, {}, {})
    assert {"ssl.client.auth", "super.users"} & read_properties(path).keys() == set()
    assert read_properties(path)["listeners"] == "PLAINTEXT://127.0.0.1:9092"
