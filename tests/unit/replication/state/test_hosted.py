"""What a broker counts over its partitions, of which it may have very many."""

from types import SimpleNamespace
from typing import Any, cast

from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.turns import Done, run_turn
from kafka_py.replication.follower.fetcher_metrics import FetcherManagerMetrics, LagMetrics, measure_fetchers
from kafka_py.replication.state.hosted import COUNTED_PER_STEP, HostedPartitions
from kafka_py.replication.state.metrics import ReplicaManagerMetrics
from kafka_py.testing.clock import ManualClock


def hosted_with(*partitions: Any) -> HostedPartitions:
    hosted = HostedPartitions(1, lambda _: True, 30_000)
    hosted.partitions.update((TopicPartition("t", number), each) for number, each in enumerate(partitions))
    return hosted


def partition(
    *, leads: bool = True, short: bool = False, margin: int | None = 1, adding: tuple[int, ...] = (),
    removing: tuple[int, ...] = (),
) -> Any:  # fmt: skip
    return SimpleNamespace(
        is_leader=leads, is_under_replicated=leads and short, isr_against_minimum=lambda: margin if leads else None,
        adding_replicas=adding, removing_replicas=removing,
    )  # fmt: skip


MIXED = [
    *[partition() for _ in range(300)],
    *[partition(short=True) for _ in range(5)],
    *[partition(margin=0) for _ in range(4)],
    *[partition(short=True, margin=-1) for _ in range(3)],
    *[partition(margin=None) for _ in range(7)],
    partition(adding=(3,)), partition(removing=(2,)),
    *[partition(leads=False, short=True, margin=-1, adding=(1,)) for _ in range(50)],
]  # fmt: skip


def test_one_look_at_each_partition_counts_what_single_gauges_count() -> None:
    hosted = hosted_with(*MIXED)
    done = run_turn(hosted.counting(), lambda: 0.0)
    assert isinstance(done, Done)
    assert tuple(done.value) == (321, 8, 3, 4, 2)
    metrics = ReplicaManagerMetrics(MetricRegistry(ManualClock()), hosted)
    of_metrics = run_turn(metrics.counting(), lambda: 0.0)
    assert of_metrics is not None
    assert len(of_metrics.value) == 5
    for attribute, value in of_metrics.value.items():
        assert getattr(metrics, attribute) == value, attribute


def test_few_partitions_are_counted_at_a_time() -> None:
    looked_at = 0

    class Watched:
        is_under_replicated = adding_replicas = removing_replicas = False

        @property
        def is_leader(self) -> bool:
            nonlocal looked_at
            looked_at += 1
            return True

        def isr_against_minimum(self) -> int:
            return 0

    before = 0
    hosted = hosted_with(*(Watched() for _ in range(1000)))
    for _ in hosted.counting():
        assert looked_at - before <= COUNTED_PER_STEP
        before = looked_at
        hosted.partitions.popitem()  # one is deleted meanwhile
    assert looked_at == 1000


def fetchers_with(**lags: int) -> Any:
    followed = {TopicPartition(topic, 0): SimpleNamespace(lag=lag) for topic, lag in lags.items()}
    fetchers = {(2, 0): SimpleNamespace(followed=followed), (3, 1): SimpleNamespace(followed={})}

    def listed() -> list[Any]:
        return list(followed.values())

    return SimpleNamespace(fetchers=fetchers, followed=listed, count_followed=lambda: len(followed))


def test_lags_of_followed_partitions_are_counted_without_a_list_of_them() -> None:
    class Unlisted(dict[Any, Any]):
        def items(self) -> Any:
            raise AssertionError("it is listed")

    registry = MetricRegistry(ManualClock())
    manager = fetchers_with(a=1, b=2, c=-1)
    measure_fetchers(manager, registry)
    (fleet,) = [table for table in registry.tables() if isinstance(table, LagMetrics)]
    assert fleet.how_many() == len(list(fleet.things())) == 3
    manager.fetchers = Unlisted()
    assert fleet.how_many() == 3


def test_a_partition_that_is_no_longer_followed_does_not_end_a_scrape() -> None:
    registry = MetricRegistry(ManualClock())
    manager = fetchers_with(a=1, b=2)
    measure_fetchers(manager, registry)
    (fleet,) = [table for table in registry.tables() if isinstance(table, LagMetrics)]
    things = iter(cast("Any", fleet.things()))
    assert next(things)[0] == ("ReplicaFetcherThread-0-2", "a", "0")
    manager.fetchers[2, 0].followed.popitem()
    del manager.fetchers[3, 1]
    assert [labels[1] for labels, _ in things] == ["b"]


def test_the_largest_lag_is_looked_for_in_steps() -> None:
    manager = fetchers_with(**{f"t{number}": number % 700 for number in range(1000)})
    metrics = FetcherManagerMetrics(MetricRegistry(ManualClock()), manager)
    steps, counting = 0, metrics.counting()
    try:
        while True:
            next(counting)
            steps += 1
    except StopIteration as end:
        assert end.value == {"max_lag": 699}
    assert steps == 4
