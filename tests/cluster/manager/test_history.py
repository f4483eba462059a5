"""The collector at a pretend cluster with failures, and at a real one of which a broker ends and returns."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.clients import (
    AdminClient,
    AlterConfig,
    AsyncAdminClient,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
)
from kafka_py.manager.history import metrics
from kafka_py.manager.history.collector import ClusterCollector
from kafka_py.manager.history.queries import EventQuery, SeriesQuery
from kafka_py.manager.history.service import FollowedCluster, HistoryService
from kafka_py.manager.history.settings import HistorySettings
from kafka_py.manager.history.store import HistoryStore
from kafka_py.manager.history.timeline import EventKind
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.fakes.fake_cluster import FakeCluster

QUICK = HistorySettings(interval_ms=200, request_timeout_ms=2_000, longest_backoff_ms=1_000)


@pytest.fixture
def pretend() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        yield made


def connect_to(servers: str) -> Callable[[], AsyncAdminClient]:
    return lambda: AsyncAdminClient({"bootstrap.servers": servers})


async def all_events(store: HistoryStore) -> list[tuple[EventKind, str]]:
    found = await store.events(EventQuery("c", 0, 1 << 60, limit=1000))
    return [(event.kind, event.subject) for _, event in reversed(found)]


def test_lag_rates_and_events_of_a_cluster(pretend: FakeCluster, tmp_path: Path) -> None:
    pretend.create_topic("t", 2)

    async def run() -> None:
        clock = ManualClock()
        store = HistoryStore(tmp_path / "h.db", QUICK, clock)
        await store.open()
        collector = ClusterCollector("c", connect_to(pretend.bootstrap_servers), store, QUICK, SYSTEM_CLOCK)
        assert await collector.attempt()
        pretend.create_topic("u", 1)
        assert await collector.attempt()
        await collector.close()
        assert (await store.latest("c", metrics.TOPICS))[""].value == 2.0
        assert await store.entities("c", metrics.TOPIC_END) == ["t", "u"]
        assert (EventKind.TOPIC_CREATED, "u") in await all_events(store)
        await store.close()

    asyncio.run(run())


def test_a_cluster_that_is_down_is_noted_once_and_when_it_returns(pretend: FakeCluster, tmp_path: Path) -> None:
    async def run() -> None:
        store = HistoryStore(tmp_path / "h.db", QUICK, SYSTEM_CLOCK)
        await store.open()
        servers = iter(["127.0.0.1:1", "127.0.0.1:1", pretend.bootstrap_servers])
        collector = ClusterCollector("c", lambda: connect_to(next(servers))(), store, QUICK, SYSTEM_CLOCK)
        assert [await collector.attempt() for _ in range(3)] == [False, False, True]
        await collector.close()
        assert await all_events(store) == [(EventKind.UNREACHABLE, "cluster"), (EventKind.REACHABLE, "cluster")]
        await store.close()

    asyncio.run(run())


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster(3, settings={"offsets.topic.num.partitions": 3}) as made:
        yield made


async def until(condition: Callable[[], object]) -> None:
    """Waits for something that the collector writes; the test's own time-out ends it otherwise."""
    while not await condition():  # type: ignore[misc]  # noqa: ASYNC110  # other threads and processes do it
        await asyncio.sleep(0.05)


@pytest.mark.timeout(240)
def test_a_broker_that_ends_and_returns_is_in_the_history(cluster: KafkaCluster, tmp_path: Path) -> None:
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.create_topics([NewTopic("t", 3, 3)]).all()
        with Producer({"bootstrap.servers": cluster.bootstrap_servers}) as producer:
            for number in range(30):
                producer.send("t", value=b"x" * 100, partition=number % 3)
        offsets = {TopicPartition("t", number): OffsetAndMetadata(4) for number in range(3)}
        admin.alter_consumer_group_offsets("g", offsets).all()

        async def run() -> None:
            history = HistoryService(tmp_path / "h.db", QUICK, SYSTEM_CLOCK)
            await history.start()
            await history.follow({"c": FollowedCluster(1, connect_to(cluster.bootstrap_servers))})
            store = history.store

            async def has(kind: EventKind, subject: str) -> bool:
                return (kind, subject) in await all_events(store)

            async def lag_is_whole() -> bool:
                """A look may come before the high watermark of a partition has reached its end."""
                row = (await store.latest("c", metrics.GROUP_LAG)).get("g")
                return row is not None and row.value == 18.0

            await until(lag_is_whole)
            assert (await store.latest("c", metrics.LAG))[metrics.group_topic("g", "t")].value == (6, 6, 6)
            assert (await store.latest("c", metrics.GROUP_LAG_MS))["g"].value >= 0  # type: ignore[operator]
            assert (await store.latest("c", metrics.TOPIC_SIZE))["t"].value != (0, 0, 0)
            await asyncio.to_thread(cluster.brokers[2].kill)
            await until(lambda: has(EventKind.BROKER_LEFT, "2"))
            await until(lambda: has(EventKind.ISR_CHANGED, "t"))
            assert (await store.latest("c", metrics.BROKERS))[""].value == 2.0
            await asyncio.to_thread(cluster.brokers[2].start)
            await until(lambda: has(EventKind.BROKER_JOINED, "2"))
            await history.stop()
            await history.stop()

        asyncio.run(run())
        resource = ConfigResource(ConfigResourceType.TOPIC, "t")
        admin.incremental_alter_configs({resource: [AlterConfig("retention.ms", "1234567")]}).all()
    asyncio.run(_after_a_restart(cluster, tmp_path))


async def _after_a_restart(cluster: KafkaCluster, tmp_path: Path) -> None:
    """The history of before is still there."""
    history = HistoryService(tmp_path / "h.db", QUICK, SYSTEM_CLOCK)
    await history.start()
    up = FollowedCluster(1, connect_to(cluster.bootstrap_servers))
    await history.follow({"c": FollowedCluster(0, up.connect), "down": FollowedCluster(1, connect_to("127.0.0.1:1"))})
    replaced = history.collector("c")
    await history.follow({"c": up, "down": FollowedCluster(1, connect_to("127.0.0.1:1"))})
    collector, down = history.collector("c"), history.collector("down")
    assert collector is not None and down is not None and collector is not replaced

    async def both_tried() -> bool:
        return collector.last is not None and down.failure is not None

    await until(both_tried)
    now_ms = SYSTEM_CLOCK.wall_ms()
    series = await history.store.series(SeriesQuery("c", metrics.BROKERS, "", now_ms - 600_000, now_ms))
    assert {point.value for point in series.points} >= {2.0, 3.0}
    await history.follow({})
    assert history.collector("c") is None
    await history.stop()
