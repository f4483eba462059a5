"""Brokers with two log directories each, one of which has most of the bytes: evened out by kafka-py under load."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import confluent_kafka
from acknowledged import Load, bootstrap_of, check_replica, log_bytes, until

from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType, ConfigSource
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.operations.rebalancing.throttles import LOG_DIR_RATE
from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.processes import python_environment
from kafka_py.testing.topics import ask_metadata

UNEVEN, COUNTED = "uneven", "counted"
PARTITIONS = 8
COMMAND = [sys.executable, "-P", "-m", "kafka_py.cli.umbrella.main", "rebalance"]


class UnevenDirectories:
    """The topics on these brokers; most bytes of the first broker are in its first directory."""

    def __init__(self, brokers: Sequence[AnyBroker], folder: Path) -> None:
        self.brokers, self.folder = brokers, folder
        self.bootstrap = bootstrap_of(brokers)
        ids = tuple(broker.broker_id for broker in brokers)
        with self.admin() as admin:
            until(lambda: len(admin.describe_cluster().nodes) == len(brokers))
            for topic, count in ((UNEVEN, PARTITIONS), (COUNTED, 2)):
                rows = dict.fromkeys(range(count), ids)
                admin.create_topics([NewTopic(topic, replica_assignments=rows)]).all()
            until(lambda: all(self._has_leaders(broker) for broker in brokers))
        first = brokers[0]
        until(lambda: sum(len(self.held(first, path)) for path in first.log_dirs) == PARTITIONS)
        self._write(self.held(first, first.log_dirs[0]))

    def _has_leaders(self, broker: AnyBroker) -> bool:
        found = ask_metadata(broker.bootstrap, [UNEVEN, COUNTED]).topics
        return sum(row.leader_id >= 0 and len(row.isr_nodes) == len(self.brokers)
                   for topic in found for row in topic.partitions) == PARTITIONS + 2  # fmt: skip

    def _write(self, partitions: Sequence[int]) -> None:
        producer = confluent_kafka.Producer({"bootstrap.servers": self.bootstrap, "acks": "all"})
        for number in range(160):
            producer.produce(UNEVEN, bytes(20_000), partition=partitions[number % len(partitions)])
        assert producer.flush(60) == 0

    def held(self, broker: AnyBroker, path: Path) -> list[int]:
        """The partitions in a directory of a broker."""
        names = [each.name for each in path.glob(f"{UNEVEN}-*")] if path.exists() else []
        return sorted(int(name.rpartition("-")[2]) for name in names if name.count("-") == 1)

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, "--bootstrap-server", self.bootstrap, *words], cwd=self.folder, env=python_environment(),
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *words: str) -> tuple[str, str]:
        running = self.begin(*words)
        out, errors = running.communicate(timeout=120)
        assert running.returncode == 0, out + errors
        return out, errors

    def plan(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*words, "--output", "json")[0])
        return found

    def moving(self, admin: AdminClient) -> int:
        found = admin.describe_log_dirs([broker.broker_id for broker in self.brokers]).all()
        return sum(info.is_future for one in found.values() for each in one.values() for info in each.replicas.values())

    def rates(self, admin: AdminClient) -> list[str | None]:
        asked = [ConfigResource(ConfigResourceType.BROKER, str(broker.broker_id)) for broker in self.brokers]
        found = admin.describe_configs(dict.fromkeys(asked, (LOG_DIR_RATE,))).all()
        own = ConfigSource.DYNAMIC_BROKER_CONFIG
        return [entry.value for one in found.values() for entry in one.values() if entry.source is own]

    def even_out(self) -> None:
        """Plans, begins slowly, is killed, cancels, begins once more and is stopped, resumes; nothing is lost."""
        load = Load(self.bootstrap, COUNTED, 2)
        first = self.plan("--log-dirs", "0")
        assert first["moves"]
        assert {move["broker"] for move in first["moves"]} == {0}
        words = ("--log-dirs", "all", "--execute", "--state", "s", "--batch-partitions", "2")
        with self.admin() as admin:
            running = begun = self.begin(*words, "--throttle", "50KB")
            until(lambda: self.moving(admin) > 0 or begun.poll() is not None)
            assert running.poll() is None, running.communicate(timeout=60)
            assert "51200" in self.rates(admin)
            running.kill()
            running.communicate(timeout=60)
            _, said = self.run("--cancel", "s")
            assert "moves were cancelled" in said
            assert (self.moving(admin), self.rates(admin)) == (0, [])
            running = resumed = self.begin("--resume", "s", "--throttle", "400KB")
            until(lambda: self.moving(admin) > 0 or resumed.poll() is not None)
            running.send_signal(signal.SIGINT)
            out, said = running.communicate(timeout=120)
            assert running.returncode in (0, 130), out + said
            assert (self.moving(admin), self.rates(admin)) == (0, [])
            begun_s = time.monotonic()
            self.run("--resume", "s", "--throttle", "50MB")
            print(f"resumed to the end in {time.monotonic() - begun_s:.1f} s")
            assert (self.moving(admin), self.rates(admin)) == (0, [])
        load.wait_more()
        again = self.plan("--log-dirs", "0", "--tolerance", "30")
        assert again["moves"] == []
        self._check(load)

    def drain(self) -> None:
        """The first directory of the first broker is emptied."""
        broker = self.brokers[0]
        path = broker.log_dirs[0]
        words = ("--drain-log-dirs", f"{broker.broker_id}={path}", "--execute", "--state", "d", "--throttle", "50MB")
        self.run(*words)
        assert self.held(broker, path) == []
        assert self.plan(*words[:2])["moves"] == []

    def _check(self, load: Load) -> None:
        """All replicas of each partition are equal and hold all that was acknowledged."""
        load.end()
        for topic, count in ((UNEVEN, PARTITIONS), (COUNTED, 2)):
            for number in range(count):
                until(lambda of=topic, at=number: len({log_bytes(each, of, at) for each in self.brokers}) == 1)
        for number, acknowledged in enumerate(load.acknowledged):
            check_replica(log_bytes(self.brokers[0], COUNTED, number), acknowledged)
