"""All fetchers of a broker: one per leader broker and fetcher id, created when needed and ended when idle (I/O).

Source: docs/reference/replication.md, section 7.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.net.client import NO_SECURITY
from kafka_py.net.network import Network
from kafka_py.net.secured.client_security import ConnectionSecurity
from kafka_py.records.java_hash import java_hash_code
from kafka_py.replication.follower.fetch_state import PartitionFetchState
from kafka_py.replication.follower.fetcher import ReplicaFetcher
from kafka_py.replication.follower.fetcher_metrics import FetcherMetrics, measure_fetchers
from kafka_py.replication.follower.following import Following
from kafka_py.replication.follower.leader_link import Leader, LeaderLink
from kafka_py.replication.state.configs import ReplicationOptions
from kafka_py.replication.state.partition import Partition
from kafka_py.wire.protocol_versions import InterBrokerVersion

Address = tuple[str, int]
FindBroker = Callable[[int], Address | None]
"""Broker id -> host and port of its inter-broker listener; None while it is not alive."""


class FetcherKey(NamedTuple):
    leader: int
    number: int


class FetcherManager:
    """The fetchers, and the assignment of partitions to them.

    failed: partitions that are not fetched until the controller sends their next state.
    """

    def __init__(  # noqa: PLR0913  # each of them has a name
        self,
        broker_id: int,
        *,
        options: Callable[[], ReplicationOptions],
        version: InterBrokerVersion,
        find_broker: FindBroker,
        following: Following,
        clock: Clock,
        registry: MetricRegistry,
        network: Network | None = None,
        security: ConnectionSecurity = NO_SECURITY,
        connect: Callable[[FetcherKey], Leader] | None = None,
        supervisor: Supervisor | None = None,
    ) -> None:
        """connect: creates the connection to a leader; by default one over `network`, or over TCP without that."""
        self.fetchers: dict[FetcherKey, ReplicaFetcher] = {}
        self.failed: set[TopicPartition] = set()
        self._broker_id = broker_id
        self._options = options
        self._version = version
        self._find_broker = find_broker
        self._following = following
        self._clock = clock
        self._registry = registry
        self._network = network
        self._security = security
        self._connect = connect or self._link
        self._count = options().num_replica_fetchers
        self._supervisor = (supervisor or Supervisor(clock)).child()
        self._is_closed = False
        measure_fetchers(self, registry)

    # ---- following

    def start(self, partitions: Iterable[Partition]) -> None:
        """Starts to follow the present leaders of these partitions; `end_idle` is called after the last of them."""
        if self._is_closed:
            return
        max_bytes = self._options().replica_fetch_max_bytes
        wanted: list[tuple[FetcherKey, PartitionFetchState]] = []
        for partition in partitions:
            if partition.log is None:
                continue
            try:
                followed = PartitionFetchState(partition, partition.log, max_bytes, self._version)
            except Exception as error:
                self._supervisor.report("replica fetcher", error, partition.topic_partition)
                self.failed.add(partition.topic_partition)
                continue
            wanted.append((self._key(partition.leader_id, partition.topic_partition), followed))
        wanted.sort(key=lambda pair: pair[0])
        for key, group in groupby(wanted, key=lambda pair: pair[0]):
            fetcher = self.fetchers.get(key)
            if fetcher is None:
                fetcher = self.fetchers[key] = self._make(key)
                fetcher.start()
            fetcher.follow(followed for _, followed in group)

    def stop(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Stops following these."""
        stopped = list(topic_partitions)
        self.failed.difference_update(stopped)
        for fetcher in self.fetchers.values():
            fetcher.drop(stopped)

    def resize(self, count: int) -> None:
        """Redistributes the partitions after a change of num.replica.fetchers."""
        if count == self._count:
            return
        self._count = count
        partitions = [one.partition for one in self.followed()]
        self.stop([partition.topic_partition for partition in partitions])
        self.start(partitions)
        self.end_idle()

    def note_log_starts(self) -> None:
        """Sends log start offsets that retention has moved to the leaders; called periodically."""
        for fetcher in self.fetchers.values():
            fetcher.note_log_starts()

    async def close(self) -> None:
        """Ends all fetchers; `start` does nothing after this."""
        self._is_closed = True
        fetchers, self.fetchers = self.fetchers, {}
        await asyncio.gather(*(fetcher.close() for fetcher in fetchers.values()))
        await self._supervisor.drain()

    def _key(self, leader: int, topic_partition: TopicPartition) -> FetcherKey:
        topic, partition = topic_partition
        return FetcherKey(leader, _abs_int32(31 * java_hash_code(topic) + partition) % self._count)

    def _make(self, key: FetcherKey) -> ReplicaFetcher:
        name = f"[ReplicaFetcher replicaId={self._broker_id}, leaderId={key.leader}, fetcherId={key.number}]"
        host, port = self._find_broker(key.leader) or ("", 0)
        metrics = FetcherMetrics(
            self._registry,
            clientId=f"ReplicaFetcherThread-{key.number}-{key.leader}",
            brokerHost=host,
            brokerPort=str(port),
        )
        return ReplicaFetcher(
            name,
            self._broker_id,
            self._connect(key),
            options=self._options,
            version=self._version,
            following=self._following,
            clock=self._clock,
            metrics=metrics,
            on_failed=lambda one: self.failed.add(one.topic_partition),
            supervisor=self._supervisor,
        )

    def _link(self, key: FetcherKey) -> Leader:
        return LeaderLink(
            lambda: self._find_broker(key.leader),
            replica_id=self._broker_id,
            client_id=f"broker-{self._broker_id}-fetcher-{key.number}",
            options=self._options(),
            versions=self._version.follower_requests,
            network=self._network,
            security=self._security,
            clock=self._clock,
        )

    def end_idle(self) -> None:
        """Ends the fetchers that have no partitions left."""
        for key in [key for key, fetcher in self.fetchers.items() if not fetcher.followed]:
            fetcher = self.fetchers.pop(key)
            self._supervisor.spawn(fetcher.close(), "replica fetcher", f"the end of {fetcher.name}")

    # ---- gauges

    def followed(self) -> list[PartitionFetchState]:
        """Every followed partition."""
        return [one for fetcher in self.fetchers.values() for one in fetcher.followed.values()]

    def count_followed(self) -> int:
        return sum(len(fetcher.followed) for fetcher in self.fetchers.values())

    def max_lag(self) -> int:
        return max((one.lag for one in self.followed()), default=0)

    def min_fetch_rate(self) -> float:
        return min((fetcher.metrics.fetch_rate() for fetcher in self.fetchers.values()), default=0.0)

    def count_dead(self) -> int:
        return sum(fetcher.is_dead for fetcher in self.fetchers.values())


def _abs_int32(value: int) -> int:
    """The absolute value of an int32 with overflow, 0 for -2147483648, as in Apache Kafka."""
    value = ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
    return 0 if value == -(1 << 31) else abs(value)
