"""A Kafka for tests of any project, from the images of docker/: a broker and its ZooKeeper, gone afterwards.

    with KafkaContainer() as kafka:
        client = SomeClient(kafka.bootstrap_servers)

Clients outside use `bootstrap_servers`, a free port of the loopback address; other containers in `network` use
`inside_servers`. What fails is a NotReady whose text says what to do. Blocking; needs the package `docker`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from kafka_py.cli.container.broker_variables import variable_of
from kafka_py.testing.cluster import property_text
from kafka_py.testing.containers.engine import connect, refusal
from kafka_py.testing.processes import NotReady, free_port, wait_until
from kafka_py.testing.topics import ask_metadata, create_topic

BROKER_IMAGE = "kafka_py/broker:latest"
ZOOKEEPER_IMAGE = "kafka_py/zookeeper:latest"
OUTSIDE_PORT = 9092
INSIDE_PORT = 29092


class KafkaContainer:
    """One broker in a container; a context manager, or `start` and `stop`.

    network: the name of the network, for other containers. broker, zookeeper: what `docker` has of the containers.
    started_in_s: from the start of the broker's container until it served.
    """

    def __init__(
        self,
        image: str = BROKER_IMAGE,
        *,
        zookeeper_image: str = ZOOKEEPER_IMAGE,
        settings: Mapping[str, str | int | float | bool] | None = None,
        options: Mapping[str, Any] | None = None,
        client: Any = None,
        timeout_s: float = 60.0,
    ) -> None:
        """settings: of the broker, under Kafka's names. options: further arguments of `docker` for its container.

        client: of `docker`; None is the one of this machine.
        """
        self.network = f"kafka_py-{uuid.uuid4().hex[:12]}"
        self.broker: Any = None
        self.zookeeper: Any = None
        self.started_in_s = 0.0
        self._images = (image, zookeeper_image)
        self._settings = {name: property_text(value) for name, value in (settings or {}).items()}
        self._options = dict(options or {})
        self._client = client
        self._network: Any = None
        self._port = 0
        self._timeout_s = timeout_s

    @property
    def bootstrap_servers(self) -> str:
        """host:port for clients on this machine."""
        return f"localhost:{self._port}"

    @property
    def inside_servers(self) -> str:
        """host:port for clients in containers of the same network."""
        return f"kafka:{INSIDE_PORT}"

    def create_topic(self, name: str | None = None, partitions: int = 1, **configs: str) -> str:
        """Makes a topic and returns its name; None is one that nobody has used. Raises KafkaError, NotReady."""
        topic = name or f"topic-{uuid.uuid4().hex[:8]}"
        named = {key.replace("_", "."): value for key, value in configs.items()}
        create_topic([self.bootstrap_servers], topic, partitions, configs=named, timeout_s=self._timeout_s)
        return topic

    def logs(self) -> str:
        """What the broker has written so far."""
        return self.broker.logs().decode(errors="replace") if self.broker is not None else ""

    # ---- life

    def start(self) -> Self:
        """Starts both containers and waits until the broker serves. Raises NotReady."""
        try:
            self._client = self._client or connect()
            self._port = free_port()
            with refusal("the containers could not be started"):
                self._run()
            self._wait_serving()
        except BaseException:
            self.stop()
            raise
        return self

    def _run(self) -> None:
        image, zookeeper_image = self._images
        self._network = self._client.networks.create(self.network, driver="bridge")
        self.zookeeper = self._create(zookeeper_image, "zookeeper", environment={"ZOO_TICK_TIME": "500"})
        self.broker = self._create(
            image, "kafka", environment=broker_environment(self._port, self._settings),
            ports={f"{OUTSIDE_PORT}/tcp": ("127.0.0.1", self._port)}, **self._options,
        )  # fmt: skip
        self.zookeeper.start()
        self.broker.start()

    def _create(self, image: str, alias: str, **options: Any) -> Any:
        """A container, known under this name in our network, and not started."""
        name = f"{self.network}-{alias}"
        container = self._client.containers.create(image, name=name, network=self.network, **options)
        self._network.disconnect(container)
        self._network.connect(container, aliases=[alias])
        return container

    def _wait_serving(self) -> None:
        begun = time.monotonic()
        try:
            wait_until(self._serves_or_ended, self._timeout_s, "an answer of the broker")
        except NotReady as error:
            raise NotReady(f"{error}; the end of its log:\n{self._end_of_log()}") from None
        self.started_in_s = time.monotonic() - begun

    def _serves_or_ended(self) -> bool:
        """Raises NotReady for a container that has ended."""
        if self._serves():
            return True
        self.broker.reload()
        if self.broker.status == "exited":
            raise NotReady("the broker's container ended")
        return False

    def _serves(self) -> bool:
        try:
            known = ask_metadata(f"127.0.0.1:{self._port}")
        except OSError:
            return False
        return len(known.brokers) == 1 and known.controller_id >= 0

    def _end_of_log(self) -> str:
        return "\n".join(self.logs().splitlines()[-20:])

    def stop(self) -> None:
        """Removes containers, volumes and network. What is not there any longer is not missed."""
        for container in (self.broker, self.zookeeper):
            if container is not None:
                with refusal("a container could not be removed"):
                    container.remove(force=True, v=True)
        self.broker = self.zookeeper = None
        if self._network is not None:
            with refusal("the network could not be removed"):
                self._network.remove()
            self._network = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def broker_environment(port: int, settings: Mapping[str, str]) -> dict[str, str]:
    """The variables of a single broker that is `localhost:port` outside and `kafka:29092` inside."""
    given = {
        "broker.id": "0",
        "zookeeper.connect": "zookeeper:2181",
        "listeners": f"INSIDE://:{INSIDE_PORT},OUTSIDE://:{OUTSIDE_PORT}",
        "advertised.listeners": f"INSIDE://kafka:{INSIDE_PORT},OUTSIDE://localhost:{port}",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **settings,
    }
    return {variable_of(name): value for name, value in given.items()}
