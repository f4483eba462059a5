"""A support archive of a real, secured cluster: everything is in it, and none of the planted secrets."""

import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_py.base.properties import format_properties
from kafka_py.cli.local_cluster import layout
from kafka_py.cli.umbrella import bundle
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import free_port


def texts_in(archive: Path) -> dict[str, str]:
    """Name -> text, the folder of the archive left out."""
    found = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            file = opened.extractfile(member)
            assert file is not None
            found[member.name.partition("/")[2]] = file.read().decode()
    return found


def test_the_archive_of_a_secured_cluster_has_all_but_its_secrets(
    kafka_cluster_factory: Callable[..., KafkaCluster], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = free_port()
    settings = {"metrics.http.port": page, "offsets.topic.replication.factor": 1, "custom.thing": "planted-custom"}
    with kafka_cluster_factory(security="SASL_SSL", settings=settings, users={"alice": "planted-alice"}) as cluster:
        broker, security = cluster.brokers[0], cluster.security
        assert security is not None
        cluster.create_topic("orders", 2)
        with broker.log.open("a") as log:
            log.write("a line with planted-alice and sasl.password=planted-other\n")
        (tmp_path / "app.properties").write_text(
            format_properties({"acks": "all", "ssl.key.password": "planted-key", "unknown": "planted-unknown"})
        )
        archive = tmp_path / "bundle.tar.gz"
        code = bundle.main([
            "--bootstrap-server", cluster.bootstrap_servers,
            "--command-config", str(cluster.access(user="admin").properties_file), "--logs", str(broker.folder),
            "--settings", str(broker.folder / "server.properties"), "--settings", str(tmp_path / "app.properties"),
            "--metrics", f"127.0.0.1:{page}", "--file", str(archive),
        ])  # fmt: skip
        secrets = {*security.passwords.values(), security.store_password, "planted"}
    assert code == 0
    assert archive.stat().st_mode & 0o777 == 0o600
    texts = texts_in(archive)
    for name in ("bundle.json", "versions.json", "doctor.json", "examination.json", "cluster.json",
                 "settings/broker-0.properties", "settings/topics.json", "metrics/0.txt", "logs/0-server.log",
                 "settings/0-server.properties", "settings/1-app.properties"):  # fmt: skip
        assert texts[name], name
    for name, text in texts.items():
        assert [secret for secret in secrets if secret in text] == [], name
    assert "acks=all" in texts["settings/1-app.properties"]
    assert "orders" in json.loads(texts["cluster.json"])["topics"]
    assert {each["name"] for each in json.loads(texts["bundle.json"])["files"]} == set(texts) - {"bundle.json"}
    assert "bundle.tar.gz" in capsys.readouterr().out


def test_a_cluster_that_is_down_still_gives_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "bundle.tar.gz"
    assert bundle.main(["--bootstrap-server", f"127.0.0.1:{free_port()}", "--file", str(archive)]) == 0
    texts = texts_in(archive)
    assert json.loads(texts["doctor.json"])["findings"][0]["id"] == "port-closed"
    assert json.loads(texts["bundle.json"])["left_out"] == ["cluster.json: no bootstrap server can be used"]


def test_the_archive_is_bounded_and_replaces_nothing(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for number in range(3):
        (logs / f"server{number}.log").write_text("a line\n" * 100_000)
    archive = tmp_path / "bundle.tar.gz"
    arguments = ["--logs", str(logs), "--max-mb", "1", "--file", str(archive)]
    assert bundle.main(arguments) == 0
    assert len(json.loads(texts_in(archive)["bundle.json"])["left_out"]) == 2
    with pytest.raises(bundle.CommandFailed, match="File exists"):
        bundle.main(arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle.tar.gz", "logs"]


def test_without_servers_it_takes_the_cluster_of_this_machine(tmp_path: Path) -> None:
    folder, port = tmp_path / "cluster", free_port()
    (folder / "broker-0").mkdir(parents=True)
    layout.write(folder, layout.LocalCluster((port,), zookeeper="127.0.0.1:1"))
    (folder / "broker-0" / "server.properties").write_text("broker.id=0\nssl.key.password=planted-key\n")
    (folder / "broker-0" / "server.log").write_text("it has started with planted-key\n")
    archive = tmp_path / "bundle.tar.gz"
    assert bundle.main(["--data", str(folder), "--file", str(archive)]) == 0
    texts = texts_in(archive)
    assert "broker.id=0" in texts["settings/0-server.properties"]
    assert texts["logs/0-server.log"] == "it has started with [hidden]\n"
    assert f"127.0.0.1:{port}" in texts["doctor.json"]
    assert not any("planted" in text for text in texts.values())


def test_nothing_to_take_is_a_wrong_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PY_DATA", str(tmp_path / "none"))
    with pytest.raises(bundle.UsageError, match="Name a cluster"):
        bundle.main([])
