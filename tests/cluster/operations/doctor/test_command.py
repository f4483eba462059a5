"""kafka-py doctor as it is called: exit codes, text, JSON and YAML, wrong command lines."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import UsageError
from kafka_py.cli.umbrella import doctor
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import free_port


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    page = free_port()
    with kafka_cluster_factory(settings={"auto.create.topics.enable": False, "metrics.http.port": page}) as made:
        yield made


def test_nothing_is_wrong_with_all_that_can_be_looked_at(
    cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    page = cluster.brokers[0].properties["metrics.http.port"]
    code = doctor.main([
        "--bootstrap-server", cluster.bootstrap_servers, "--zookeeper", cluster.zookeeper_connect,
        "--metrics", f"127.0.0.1:{page}",
    ])  # fmt: skip
    assert (code, capsys.readouterr().out) == (0, "Nothing is wrong.\n")


def test_what_was_not_checked_is_named(cluster: KafkaCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["--bootstrap-server", cluster.bootstrap_servers]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Not checked:\n  clocks of the brokers: ")
    assert "  ZooKeeper: no server was named\n" in shown
    assert shown.endswith("Nothing is wrong.\n")


def test_advice_is_no_reason_for_another_exit_code(cluster: KafkaCluster, tmp_path: Path) -> None:
    file = tmp_path / "consumer.properties"
    file.write_text("enable.auto.commit=true\n")
    assert doctor.main(["--bootstrap-server", cluster.bootstrap_servers, "--client-config", str(file)]) == 0


def test_warnings_and_errors_have_exit_codes_of_their_own(
    cluster: KafkaCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("acks=1\n")
    assert doctor.main(["--bootstrap-server", cluster.bootstrap_servers, "--client-config", str(file)]) == 2
    shown = capsys.readouterr().out
    assert "WARNING client-acks: producer.properties: acks is not all.\n  why:     A record is lost" in shown
    assert "  seen:    acks=1\n" in shown
    assert shown.endswith("0 errors, 1 warnings, 0 notes\n")
    assert doctor.main(["--bootstrap-server", f"127.0.0.1:{free_port()}"]) == 3


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_documents_for_programs(form: str, read: Callable[[str], dict], capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[type-arg]
    assert doctor.main(["--bootstrap-server", "kafka.invalid:9092", "--output", form]) == 3
    document = read(capsys.readouterr().out)
    assert (document["errors"], document["warnings"], document["notes"]) == (1, 0, 0)
    [finding] = document["findings"]
    assert set(finding) == {"id", "severity", "what", "why", "repair", "evidence"}
    assert (finding["id"], finding["severity"]) == ("name-unknown", "error")


def test_wrong_command_lines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bootstrap-server"):
        doctor.main(["--output", "json"])
    with pytest.raises(UsageError, match="--timeout-ms"):
        doctor.main(["--bootstrap-server", "a:1", "--timeout-ms", "0"])
    with pytest.raises(ConfigError, match="Cannot read"):
        doctor.main(["--bootstrap-server", "a:1", "--command-config", str(tmp_path / "none")])
    with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
        doctor.main(["--bootstrap-server", "no port"])
    with pytest.raises(ConfigError, match="--zookeeper"):
        doctor.main(["--bootstrap-server", "127.0.0.1:1", "--zookeeper", "//"])
