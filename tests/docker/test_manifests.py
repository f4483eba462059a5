"""Compose files, Kubernetes manifests and systemd units, without an engine: schemas, names that the servers know."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafka_py
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.cli.container.broker_variables import broker_settings
from kafka_py.cli.container.manager import manager_settings
from kafka_py.cli.container.manager_variables import manager_values
from kafka_py.cli.container.variables import read_secret
from kafka_py.cli.container.zookeeper_variables import zookeeper_settings
from kafka_py.testing.processes import ROOT

yaml = pytest.importorskip("yaml")

FOLDER = ROOT / "docker"
COMPOSE = ("compose.yaml", "compose-cluster.yaml")
MANIFESTS = sorted(path.name for path in (FOLDER / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
UNITS = ("kafka.service", "kafka-manager.service", "zookeeper.service")
KUBERNETES = ("1.28", "1.33")


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def services(name: str) -> dict[str, dict[str, Any]]:
    [found] = documents(FOLDER / name)
    return found["services"]


def check_broker(environment: dict[str, str]) -> BrokerConfig:
    """Every variable is a setting with a value that it may have."""
    variables = broker_settings(environment, {}, read_secret)
    config = BrokerConfig.parse(variables.settings)
    assert config.unknown_settings() == [] and variables.without_effect == []
    assert not config.without_effect()
    return config


def check_manager(environment: dict[str, str]) -> None:
    """Every variable is one of the manager, and everybody has to log in."""
    variables = manager_values(environment, {}, read_secret)
    settings = manager_settings(variables)
    settings.validate()
    assert variables.ignored == [] and settings.users is not None and len(settings.clusters) == 1


@pytest.mark.parametrize("name", COMPOSE)
def test_the_variables_of_compose_files_are_known(name: str) -> None:
    ids = []
    for service in services(name).values():
        given = service.get("environment", {})
        environment = {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for name, value in given.items()}
        if "broker" in service["image"] and "command" not in service:
            ids.append(check_broker(environment).broker_id)
        elif "zookeeper" in service["image"]:
            assert zookeeper_settings(environment, read_secret).ignored == []
        elif "manager" in service["image"]:
            check_manager(environment)
    assert len(ids) == len(set(ids)) == (1 if name == "compose.yaml" else 3)


@pytest.mark.parametrize("name", COMPOSE)
def test_compose_files_publish_on_the_loopback_address_and_keep_data_in_volumes(name: str) -> None:
    [whole] = documents(FOLDER / name)
    mounted = []
    for service in whole["services"].values():
        assert all(port.startswith("127.0.0.1:${") for port in service.get("ports", []))
        mounted += [volume.partition(":")[0] for volume in service.get("volumes", [])]
        for build in filter(None, [service.get("build")]):
            assert (FOLDER / build["context"] / build["dockerfile"]).exists()
    assert {each for each in mounted if not each.startswith(".")} == set(whole["volumes"])
    assert all((FOLDER / each).exists() for each in mounted if each.startswith("."))


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", MANIFESTS)
def test_the_manifests_have_the_schemas_of_kubernetes(name: str, version: str) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for document in documents(FOLDER / "kubernetes" / name):
        kubernetes_validate.validate(document, version, strict=True)


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in MANIFESTS:
        for document in documents(FOLDER / "kubernetes" / name):
            if document["kind"] in ("StatefulSet", "Deployment"):
                assert document["spec"]["selector"]["matchLabels"] == document["spec"]["template"]["metadata"]["labels"]
                for container in document["spec"]["template"]["spec"]["containers"]:
                    yield document["metadata"]["name"], container


def test_the_variables_of_the_manifests_are_known_and_probes_ask_for_health() -> None:
    [settings] = documents(FOLDER / "kubernetes" / "kafka-settings.yaml")
    for name, container in containers():
        own = {variable["name"]: variable.get("value", "1") for variable in container["env"]}
        for probe in ("startupProbe", "readinessProbe"):
            assert container[probe]["exec"]["command"][:3] == ["python3", "-m", "kafka_py.cli.container.health"]
        if name == "kafka":
            own = {key: value for key, value in own.items() if key.startswith("KAFKA_")}
            own["KAFKA_ADVERTISED_LISTENERS"] = "PLAINTEXT://kafka-0.kafka-brokers.kafka.svc:9092"
            check_broker({**settings["data"], **own})
        elif name == "manager":
            check_manager({**own, "KAFKA_MANAGER_ADMINISTRATOR_PASSWORD": "of the secret"})
        else:
            assert zookeeper_settings(own, read_secret).ignored == []


def test_the_kustomization_has_every_manifest_and_the_images_of_this_version() -> None:
    [whole] = documents(FOLDER / "kubernetes" / "kustomization.yaml")
    assert sorted(whole["resources"]) == MANIFESTS
    assert {image["name"]: image["newTag"] for image in whole["images"]} == {
        container["image"]: kafka_py.__version__ for _, container in containers()
    }


@pytest.mark.parametrize("name", UNITS)
def test_the_units_start_commands_of_the_wheel(name: str) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(ROOT / "config" / "systemd" / name)
    command = Path(unit["Service"]["ExecStart"].split()[0])
    assert command.name in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """Where there is a systemd; the commands, which are not installed here, are replaced by one that exists."""
    program = shutil.which("systemd-analyze")
    if program is None:
        return
    for name in UNITS:
        text = (ROOT / "config" / "systemd" / name).read_text()
        lines = ["ExecStart=/bin/true" if line.startswith("ExecStart=") else line for line in text.splitlines()]
        (tmp_path / name).write_text("\n".join(lines))
    done = subprocess.run(
        [program, "verify", *(tmp_path / name for name in UNITS)], capture_output=True, text=True, check=False
    )
    assert [line for line in done.stderr.splitlines() if any(name in line for name in UNITS)] == []
