"""The metrics of groups and transactions. Source: docs/reference/metrics.tsv."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka_py.base.meters import MetricRegistry, MetricTable
from kafka_py.base.metric_rows import Gauge, Sampled, Total
from kafka_py.coordinator.groups.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupState,
)
from kafka_py.net.metrics import LinkMetrics

if TYPE_CHECKING:
    from kafka_py.coordinator.groups.metadata_store import GroupStore
    from kafka_py.coordinator.groups.offset_keeper import OffsetKeeper


def _in_state(state: GroupState) -> Callable[[GroupStore], int]:
    return lambda store: sum(group.state is state for group in store.groups())


class GroupMetrics(MetricTable, group="kafka.coordinator.group:type=GroupMetadataManager"):
    """The owner is the GroupStore; all values are computed when they are read."""

    offsets = Gauge(
        "NumOffsets",
        of=lambda store: sum(len(group.offsets.committed) for group in store.groups()),
        about="Committed offsets in memory.",
    )
    groups = Gauge("NumGroups", of=lambda store: sum(1 for _ in store.groups()), about="Groups in memory.")
    preparing = Gauge(
        "NumGroupsPreparingRebalance", of=_in_state(PREPARING_REBALANCE), about="Groups whose members are joining."
    )
    completing = Gauge(
        "NumGroupsCompletingRebalance", of=_in_state(COMPLETING_REBALANCE), about="Groups that await an assignment."
    )
    stable = Gauge("NumGroupsStable", of=_in_state(STABLE), about="Groups at work.")
    dead = Gauge("NumGroupsDead", of=_in_state(DEAD), about="Groups that are about to go.")
    empty = Gauge("NumGroupsEmpty", of=_in_state(EMPTY), about="Groups without members.")


class GroupCoordinatorMetrics(MetricTable, group="kafka.server:type=group-coordinator-metrics", attributes=True):
    """Rates of what the group coordinator does.

    offsets: counts commits, expiries and deletions itself; they are taken over when the metrics are read.
    """

    load_time = Sampled(
        avg="partition-load-time-avg", max="partition-load-time-max", unit="ms",
        about="Time to load a partition of the offsets topic.",
    )  # fmt: skip
    offset_commits = Total("offset-commit-count", rate="offset-commit-rate", about="Offsets committed, or tried to.")
    offset_expirations = Total("offset-expiration-count", rate="offset-expiration-rate", about="Offsets expired.")
    offset_deletions = Total(
        "offset-deletion-count", rate="offset-deletion-rate", about="Offsets deleted by OffsetDelete requests."
    )
    completed_rebalances = Total(
        "group-completed-rebalance-count", rate="group-completed-rebalance-rate", about="Rebalances finished."
    )

    def __init__(self, registry: MetricRegistry, offsets: OffsetKeeper) -> None:
        super().__init__(registry, offsets)
        self._offsets = offsets

    def count_rebalance(self) -> None:
        """A group's leader has sent an assignment."""
        self.completed_rebalances += 1

    def settle(self) -> None:
        self.offset_commits = self._offsets.committed_count
        self.offset_expirations = self._offsets.expired_count
        self.offset_deletions = self._offsets.deleted_count


class MarkerChannelMetrics(MetricTable, group="kafka.coordinator.transaction:type=TransactionMarkerChannelManager"):
    """The owner is the MarkerQueues."""

    unknown_destination = Gauge(
        "UnknownDestinationQueueSize",
        of=lambda queues: queues.aside_count,
        about="Transactions with markers whose leader is not known or not able to take them.",
    )


class MarkerConnectionMetrics(LinkMetrics, group="kafka.server:type=txn-marker-channel-metrics"):
    """The connections over which markers are sent."""


class TransactionRetryMetrics(MetricTable, group="kafka.coordinator.transaction:type=TransactionMarkerChannelManager"):
    """The owner is the TransactionDriver."""

    append_retries = Gauge(
        "LogAppendRetryQueueSize",
        of=lambda driver: driver.waiting_appends,
        about="Finished transactions whose last record waits to be appended again.",
    )


class TransactionCoordinatorMetrics(
    MetricTable, group="kafka.server:type=transaction-coordinator-metrics", attributes=True
):
    """What the transaction coordinator does."""

    load_time = Sampled(
        avg="partition-load-time-avg", max="partition-load-time-max", unit="ms",
        about="Time to load a partition of the transaction topic.",
    )  # fmt: skip
