"""Metrics of the followers' fetchers: traffic, lag, failed partitions. Source: docs/reference/metrics.tsv."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from kafka_py.base.meters import Fleet, MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Gauge, Rate, Value

if TYPE_CHECKING:
    from kafka_py.replication.follower.fetch_state import PartitionFetchState
    from kafka_py.replication.follower.fetcher_manager import FetcherManager

CLIENT_ID = "Replica"
LOOKED_AT_PER_STEP = 250
"""Partitions whose lag is looked at in one step of a scrape, some tenths of a millisecond."""


class FetcherMetrics(
    MetricTable, group="kafka.server:type=FetcherStats", tags=("clientId", "brokerHost", "brokerPort")
):
    """One fetcher's traffic."""

    requests = Rate("RequestsPerSec", unit="requests", about="Fetches with a response.")
    bytes = Rate("BytesPerSec", unit="bytes", about="Record bytes that were fetched.")

    def fetch_rate(self) -> float:
        """Fetches per second, as the one-minute average."""
        return float(FetcherMetrics.requests.read(self).get("OneMinuteRate", 0.0))


class FetcherManagerMetrics(MetricTable, group="kafka.server:type=ReplicaFetcherManager", tags=("clientId",)):
    """All fetchers of a broker; the owner is the FetcherManager."""

    max_lag = Gauge("MaxLag", of=lambda m: m.max_lag(), about="The largest lag of a partition, in records.")
    min_fetch_rate = Gauge("MinFetchRate", of=lambda m: m.min_fetch_rate(), about="Of the slowest fetcher, per second.")
    failed = Gauge("FailedPartitionsCount", of=lambda m: len(m.failed), about="Partitions failed after an error.")
    dead = Gauge("DeadThreadCount", of=lambda m: m.count_dead(), about="Fetchers whose loop ended by itself.")

    def counting(self) -> Generator[None, None, Mapping[str, Value]]:
        manager = cast("FetcherManager", self.owner)
        largest = 0
        for number, one in enumerate(manager.followed(), 1):
            largest = max(largest, one.lag)
            if number % LOOKED_AT_PER_STEP == 0:
                yield
        return {"max_lag": largest}


class MoverMetrics(MetricTable, group="kafka.server:type=ReplicaAlterLogDirsManager", tags=("clientId",)):
    """Moves between log directories; the owner is the LogDirMover."""

    max_lag = Gauge("MaxLag", of=lambda m: m.max_lag(), about="The largest lag of a move, in records.")
    min_fetch_rate = Gauge("MinFetchRate", of=lambda _: 0.0, about="Always 0: moves do not fetch.")
    failed = Gauge("FailedPartitionsCount", of=lambda m: len(m.failed), about="Moves failed after an error.")
    dead = Gauge("DeadThreadCount", of=lambda _: 0, about="Always 0: moves have no threads.")


class LagMetrics(Fleet, group="kafka.server:type=FetcherLagMetrics", tags=("clientId", "topic", "partition")):
    """Every followed partition."""

    lag = Gauge("ConsumerLag", of=lambda one: max(one.lag, 0), about="Records behind the leader's high watermark.")


def measure_fetchers(manager: FetcherManager, registry: MetricRegistry) -> None:
    """Registers the metrics of the fetcher manager and of its partitions."""

    def followed() -> Iterator[tuple[Sequence[str], PartitionFetchState]]:
        for (leader, number), fetcher in list(manager.fetchers.items()):
            for (topic, partition), one in list(fetcher.followed.items()):
                yield (f"ReplicaFetcherThread-{number}-{leader}", topic, str(partition)), one

    FetcherManagerMetrics(registry, manager, clientId=CLIENT_ID)
    LagMetrics(registry, followed, manager.count_followed)
