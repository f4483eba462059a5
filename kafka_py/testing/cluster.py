"""A Kafka cluster for tests, of any project and any test runner: real brokers, a real ZooKeeper, gone afterwards.

    with KafkaCluster() as cluster:
        client = SomeClient(cluster.bootstrap_servers)

With `security="SASL_SSL"` clients come in over TLS and have to log in; `access` says how.

Every process listens on a free port of the loopback address and writes to a temporary folder. Nothing is left when
the `with` ends, nor when the process that runs it is killed. pytest_plugin.py offers the same as fixtures.
Blocking; may be used beside an event loop that does something else meanwhile.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from kafka_py.base.chance import Chance
from kafka_py.cli.local_cluster.broker_view import Connect, plain_connection
from kafka_py.cli.local_cluster.scram_accounts import create_accounts
from kafka_py.cli.local_cluster.secured_socket import SecuredConnections
from kafka_py.cli.local_cluster.security import (
    ADMIN,
    BROKER,
    OAUTHBEARER,
    PLAIN,
    PROTOCOLS,
    SCRAM,
    SCRAM_512,
    ClusterSecurity,
    make,
)
from kafka_py.testing import guard
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.client_access import ClientAccess
from kafka_py.testing.processes import NotReady, ZookeeperServer, free_ports
from kafka_py.testing.secured_zookeeper import SecuredZookeeper, login_file
from kafka_py.testing.topics import ask_metadata, create_topic
from kafka_py.zk.secured.digest_md5 import DigestMd5
from kafka_py.zk.secured.protection import UNSECURED, SessionProtection

Settings = Mapping[str, str | int | float | bool]

START_TIMEOUT_S = 60.0
MECHANISMS = (*SCRAM, PLAIN, OAUTHBEARER)
"""By which users may log in to a cluster with SASL; OAUTHBEARER takes unsigned tokens."""
USERS = {"alice": "alice-secret"}

_numbers = itertools.count(1)


class KafkaCluster:
    """Brokers 0 to brokers-1 of one cluster; a context manager, or `start` and `stop`.

    brokers: the running processes; each can be stopped, killed and started again by itself, on its old port.
    started_in_s: from the start until every broker served and knew all the others.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        settings: Settings | None = None,
        security: str | None = None,
        users: Mapping[str, str] | None = None,
        zookeeper: ZookeeperServer | str | None = None,
        secure_zookeeper: bool = False,
        folder: Path | None = None,
        timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        """settings: go into every broker's server.properties under Kafka's names.

        zookeeper: a server that was started, or a connect string; the cluster gets a chroot of its own there. None
        starts one that ends with the cluster. folder: for logs and data, kept afterwards; None is a temporary one.

        secure_zookeeper: the brokers log in at a ZooKeeper of their own, where only they may write
        (zookeeper.set.acl); `zookeeper_login` is their KAFKA_OPTS, which tools past the brokers need as well.

        security: SSL, SASL_PLAINTEXT or SASL_SSL, for clients and between brokers; None is PLAINTEXT. users: names and
        passwords, alice's unless given; `admin` is always there, a super user.
        """
        if brokers < 1:
            raise ValueError(f"a cluster has at least one broker, not {brokers}")
        if security not in (None, *PROTOCOLS):
            raise ValueError(f"security is one of {', '.join(PROTOCOLS)}, not {security}")
        if secure_zookeeper and zookeeper is not None:
            raise ValueError("secure_zookeeper is for a ZooKeeper that the cluster starts itself")
        self.zookeeper_login = ""
        self._protection = UNSECURED
        self._secures_zookeeper = secure_zookeeper
        self.brokers: list[BrokerProcess] = []
        self.started_in_s = 0.0
        self.timeout_s = timeout_s
        self.security: ClusterSecurity | None = None
        self._protocol = security
        self._users = {ADMIN: f"{ADMIN}-secret", **(USERS if users is None else users)}
        self._connect: Connect = plain_connection
        self._count = brokers
        self._settings = {name: property_text(value) for name, value in (settings or {}).items()}
        self._given_zookeeper = zookeeper
        self._given_folder = folder
        self._folder: Path | None = None
        self._own_zookeeper: ZookeeperServer | None = None
        self._zookeeper_connect = ""

    # ---- what clients need

    @property
    def bootstrap_servers(self) -> str:
        """host:port of every broker, comma-separated."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    @property
    def zookeeper_connect(self) -> str:
        """The brokers' `zookeeper.connect`, chroot included."""
        return self._zookeeper_connect

    @property
    def folder(self) -> Path:
        """Where the logs and data of all its processes are."""
        if self._folder is None:
            raise NotReady("the cluster was not started")
        return self._folder

    def access(self, user: str = "alice", *, mechanism: str = SCRAM_512, password: str | None = None) -> ClientAccess:
        """How clients of this user come in, by one of MECHANISMS. password: in place of the user's own.

        Raises ValueError for a user that the cluster does not have.
        """
        if self.security is None:
            return ClientAccess(self.bootstrap_servers, self.folder)
        if user not in self.security.passwords:
            raise ValueError(f"the cluster's users are {', '.join(self.security.passwords)}, not {user}")
        return ClientAccess(
            self.bootstrap_servers, self.security.folder, self.security, user, mechanism, password
        )

    def create_topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        *,
        replication_factor: int = 1,
        configs: Settings | None = None,
    ) -> str:
        """Makes a topic, waits until every running broker knows its leaders, and returns its name.

        name: None for one that nobody has used yet. Raises KafkaError, NotReady.
        """
        topic = name or f"topic-{next(_numbers)}"
        running = [broker.bootstrap for broker in self.brokers if broker.running]
        given = {key: property_text(value) for key, value in (configs or {}).items()}
        create_topic(running, topic, partitions, replication_factor=replication_factor, configs=given,
                     timeout_s=self.timeout_s, connect=self._connect)  # fmt: skip
        return topic

    # ---- life

    def start(self) -> Self:
        """Starts everything at once and waits until it is one cluster. Raises NotReady with the end of a log."""
        begun = time.monotonic()
        try:
            self._folder = self._make_folder()
            self._zookeeper_connect = self._find_zookeeper(self._folder)
            secured = self._secure(self._folder)
            protected = {"zookeeper.set.acl": "true"} if self._secures_zookeeper else {}
            ports = free_ports(self._count)
            for number, port in enumerate(ports):
                home = self._folder / f"broker-{number}"
                listener = {"listeners": f"{self._protocol}://127.0.0.1:{port}"} if self._protocol else {}
                broker = BrokerProcess(
                    home, self._zookeeper_connect, broker_id=number, port=port,
                    settings={**listener, **secured, **protected, **self._settings},
                )  # fmt: skip
                broker.connect = self._connect
                if self.zookeeper_login:
                    broker.environment["KAFKA_OPTS"] = self.zookeeper_login
                self.brokers.append(broker)
                broker.launch()
            self._wait_started()
        except BaseException:
            self.stop()
            raise
        self.started_in_s = time.monotonic() - begun
        return self

    def _make_folder(self) -> Path:
        if self._given_folder is not None:
            self._given_folder.mkdir(parents=True, exist_ok=True)
            return self._given_folder
        folder = Path(tempfile.mkdtemp(prefix="kafka_py-cluster-"))
        guard.discard_with_us(folder)
        return folder

    def _find_zookeeper(self, folder: Path) -> str:
        given = self._given_zookeeper
        if given is None and self._secures_zookeeper:
            given = self._own_zookeeper = self._secured_zookeeper(folder)
        elif given is None:
            given = self._own_zookeeper = ZookeeperServer(folder / "zookeeper").start()
        connect = given if isinstance(given, str) else given.connect
        return f"{connect}/{folder.name}"

    def _secured_zookeeper(self, folder: Path) -> ZookeeperServer:
        """One that knows the brokers' name and password; their login file is beside its data."""
        password = Chance().new_uuid().hex
        server = SecuredZookeeper(folder / "zookeeper", {BROKER: password})
        self.zookeeper_login = login_file(folder / "zookeeper-login.conf", BROKER, password)
        self._protection = SessionProtection(login=DigestMd5(BROKER, password), protects=True)
        return server.start()

    def _secure(self, folder: Path) -> dict[str, str]:
        """Makes certificates and users; the settings that brokers have because of them."""
        if self._protocol is None:
            return {}
        security = self.security = make(folder / "security", self._protocol, self._users, MECHANISMS)
        if security.has_logins:
            self._wait_for_zookeeper()
            create_accounts(self._zookeeper_connect, security.passwords, self.timeout_s, self._protection)
        self._connect = SecuredConnections(security.client_settings(ADMIN))
        return security.broker_settings()

    def _wait_for_zookeeper(self) -> None:
        zookeeper = self._own_zookeeper or self._given_zookeeper
        if isinstance(zookeeper, ZookeeperServer):
            zookeeper.wait_serving(self.timeout_s)

    def _wait_started(self) -> None:
        """ZooKeeper first: a broker that waits for one that failed has nothing to say."""
        self._wait_for_zookeeper()
        for broker in self.brokers:
            broker.wait_started(self.timeout_s)
        for broker in self.brokers if self._count > 1 else ():
            broker.wait_for(partial(self._is_whole_for, broker), self.timeout_s, "the whole cluster")

    def _is_whole_for(self, broker: BrokerProcess) -> bool:
        known = ask_metadata(broker.bootstrap, connect=self._connect)
        return len(known.brokers) == self._count and known.controller_id >= 0

    def stop(self) -> None:
        """Ends every process and removes the temporary folder. With a folder to keep, brokers are stopped cleanly."""
        for broker in self.brokers:
            if self._given_folder is None:
                broker.kill()
            else:
                broker.stop()
        self.brokers.clear()
        if self._own_zookeeper is not None:
            self._own_zookeeper.end()
            self._own_zookeeper = None
        if self._folder is not None and self._given_folder is None:
            shutil.rmtree(self._folder, ignore_errors=True)
            guard.forget_folder(self._folder)
        self._folder = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def property_text(value: str | int | float | bool) -> str:
    """A value as a properties file has it: True is `true`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
