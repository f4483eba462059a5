"""What a broker gets from the world outside, as one value that is handed in at its start.

Source: docs/architecture.md.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field

from kafka_py.base.environment import Environment
from kafka_py.log.disk.files import Files, RealFiles
from kafka_py.net.loop import LoopWatch
from kafka_py.net.network import Network, TcpNetwork
from kafka_py.zk.session import ZkSession


@dataclass(frozen=True, slots=True)
class ServerEnvironment(Environment):
    """The machine's own, unless given.

    files: where logs are stored. network: where sockets come from.
    session: of ZooKeeper, not yet connected; None for one over TCP, as the settings describe it.
    executor: runs what blocks; None for threads of the broker's own, as many as the settings say.
    watch: measures the event loop, if anything does.
    """

    files: Files = field(default_factory=RealFiles)
    network: Network = field(default_factory=TcpNetwork)
    session: ZkSession | None = None
    executor: Executor | None = None
    watch: LoopWatch | None = None
