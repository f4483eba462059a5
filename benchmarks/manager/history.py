"""What the history of the web manager costs: CPU of its collector as a share of a core, at many partitions.

    python -m benchmarks.manager.history [--topics N] [--partitions N] [--groups N] [--rounds N] [--changing SHARE]

A real broker in another process has topics of ten partitions and groups with commits. Between two rounds records are
appended to a share of the topics. Only the rounds are measured: requests, decoding, lag, timeline, SQLite, all threads
of this process. The clock is moved by the usual interval after each round, so every tenth round is a thorough one, with
log directories and settings.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from kafka_py.base.clock import SystemClock
from kafka_py.clients import (
    AsyncAdminClient,
    AsyncProducer,
    NewTopic,
    OffsetAndMetadata,
    TopicPartition,
)
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.history.collector import ClusterCollector
from kafka_py.manager.history.database import stored_bytes
from kafka_py.manager.history.resolutions import KEYFRAME_MS, is_keyframe
from kafka_py.manager.history.settings import HistorySettings
from kafka_py.manager.history.store import HistoryStore
from kafka_py.testing.cluster import KafkaCluster

TOPICS_AT_ONCE = 50
PARTITIONS_OF_A_GROUP = 100


class MovedClock(SystemClock):
    """The machine's clock, ahead by what it was moved."""

    __slots__ = ("ahead_ms",)

    def __init__(self) -> None:
        self.ahead_ms = 0

    def wall_ms(self) -> int:
        return super().wall_ms() + self.ahead_ms


async def fill(servers: str, topics: list[str], partitions: int, groups: int) -> None:
    """Creates the topics, and groups that have committed offset 0."""
    configs = {"bootstrap.servers": servers, "default.api.timeout.ms": "600000", "request.timeout.ms": "300000"}
    async with AsyncAdminClient(configs) as admin:
        for at in range(0, len(topics), TOPICS_AT_ONCE):
            some = [NewTopic(name, partitions, 1) for name in topics[at : at + TOPICS_AT_ONCE]]
            (await admin.create_topics(some)).all()
        every = [TopicPartition(name, number) for name in topics for number in range(partitions)]
        for group in range(groups):
            at = group * PARTITIONS_OF_A_GROUP % len(every)
            offsets = {each: OffsetAndMetadata(0) for each in every[at : at + PARTITIONS_OF_A_GROUP]}
            (await admin.alter_consumer_group_offsets(f"group-{group}", offsets)).all()


async def append(servers: str, topics: list[str], partitions: int) -> None:
    """One record to every partition of the topics."""
    async with AsyncProducer({"bootstrap.servers": servers, "linger.ms": "50"}) as producer:
        sent = [await producer.send(name, value=b"x", partition=number) for name in topics
                for number in range(partitions)]  # fmt: skip
        await producer.flush()
        await asyncio.gather(*sent)


async def measure(servers: str, folder: Path, topics: list[str], options: argparse.Namespace) -> None:
    """Prints what a usual and a thorough round cost, and both together as a share of a core."""
    clock, settings = MovedClock(), HistorySettings()
    store = HistoryStore(folder / "history.db", settings, clock)
    await store.open()
    environment = ClientEnvironment(clock=clock)
    collector = ClusterCollector(
        "c", lambda: AsyncAdminClient({"bootstrap.servers": servers}, environment=environment), store, settings, clock
    )
    changing = topics[: int(len(topics) * options.changing)]
    costs: dict[bool, list[float]] = {False: [], True: []}
    assert await collector.attempt()
    for _ in range(options.rounds):
        await append(servers, changing, options.partitions)
        clock.ahead_ms += settings.interval_ms
        last = collector.last
        is_thorough = is_keyframe(None if last is None else last.time_ms, clock.wall_ms())
        before = time.process_time()
        assert await collector.attempt()
        costs[is_thorough].append(time.process_time() - before)
    await collector.close()
    await store.close()
    usual, thorough = (sorted(costs[kind])[len(costs[kind]) // 2] for kind in (False, True))
    per_keyframe = KEYFRAME_MS // settings.interval_ms
    share = (usual * (per_keyframe - 1) + thorough) / (KEYFRAME_MS / 1000)
    print(f"{len(topics) * options.partitions:,} partitions, {options.groups} groups, {options.changing:.0%} changing")
    print(f"a usual round {usual * 1000:,.0f} ms of CPU, a thorough one {thorough * 1000:,.0f} ms (medians)")
    print(f"every {settings.interval_ms // 1000} s: {share:.2%} of a core")
    print(f"{stored_bytes(folder / 'history.db') / options.rounds / 1024:,.0f} KiB of the file per round, "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB resident at most")  # fmt: skip


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--topics", type=int, default=1_000)
    options.add_argument("--partitions", type=int, default=10, help="of each topic")
    options.add_argument("--groups", type=int, default=100)
    options.add_argument("--rounds", type=int, default=24)
    options.add_argument("--changing", type=float, default=0.2, help="share of the topics that get records")
    given = options.parse_args()
    topics = [f"topic-{number:05}" for number in range(given.topics)]
    with KafkaCluster() as cluster, TemporaryDirectory() as folder:
        asyncio.run(fill(cluster.bootstrap_servers, topics, given.partitions, given.groups))
        asyncio.run(measure(cluster.bootstrap_servers, Path(folder), topics, given))


if __name__ == "__main__":
    main()
