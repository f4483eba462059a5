"""KafkaContainer and its engine, without one: the broker's variables, and the one line for what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.cli.container.broker_variables import broker_settings
from kafka_py.cli.container.variables import read_secret
from kafka_py.testing.containers.engine import connect, engine_command, why_not_own
from kafka_py.testing.containers.kafka_container import KafkaContainer, broker_environment
from kafka_py.testing.processes import NotReady


def test_the_broker_has_an_address_outside_and_one_inside_and_the_settings_of_the_test() -> None:
    environment = broker_environment(12345, {"num.partitions": "3", "listener.name.in_side.max.connections": "9"})
    config = BrokerConfig.parse(broker_settings(environment, {}, read_secret).settings)
    assert config.unknown_settings() == []
    assert config.originals["advertised.listeners"] == "INSIDE://kafka:29092,OUTSIDE://localhost:12345"
    assert config.originals["num.partitions"] == "3"
    assert config.originals["listener.name.in_side.max.connections"] == "9"


def test_a_missing_package_and_a_missing_engine_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "docker.errors", None)
        with pytest.raises(NotReady, match=r"docker is not installed: pip install kafka_py\[docker\]"):
            KafkaContainer().start()
    pytest.importorskip("docker.errors")
    with pytest.raises(NotReady, match=r"no container engine answers at unix://\S+: start Docker, or set DOCKER_HOST"):
        connect(f"unix://{tmp_path}/docker.sock")


def test_an_engine_of_our_own_leaves_the_firewall_alone(tmp_path: Path) -> None:
    command = engine_command(tmp_path)
    assert {"--iptables=false", "--ip-forward=false", "--bridge=none"} <= set(command)
    assert why_not_own({"PATH": str(tmp_path)}) == "dockerd is not installed (Debian: apt-get install docker.io)"
