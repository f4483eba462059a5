"""The environment of a server: all access to the outside, as one value.

Source: docs/architecture.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field

from kafka_py.base.environment import Environment
from kafka_py.log.disk.files import Files, RealFiles
from kafka_py.net.event_loop.loop import LoopWatch
from kafka_py.net.network import Network, TcpNetwork
from kafka_py.security.sasl.jaas import LoginModule
from kafka_py.zk.session import ZkSession


@dataclass(frozen=True, slots=True)
class ServerEnvironment(Environment):
    """Defaults are those of the machine.

    files: the file system of the logs. network: creates sockets. session: of ZooKeeper, not yet connected; None for one
    over TCP according to the settings. executor: runs blocking work; None for a pool of the broker's own. watch:
    measures the event loop; may be None. login_sections: of the login file (java.security.auth.login.config).
    java_properties: those that KAFKA_OPTS sets for Java, of which some are ZooKeeper's.
    """

    files: Files = field(default_factory=RealFiles)
    network: Network = field(default_factory=TcpNetwork)
    session: ZkSession | None = None
    executor: Executor | None = None
    watch: LoopWatch | None = None
    login_sections: Mapping[str, list[LoginModule]] = field(default_factory=dict)
    java_properties: Mapping[str, str] = field(default_factory=dict, repr=False)  # with passwords of stores
