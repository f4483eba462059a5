"""The controller on three real brokers: topics made, a leader killed, the controller killed.

    python -m benchmarks.controlled_cluster [--partitions N] [--topics N] [--only STEP,...]

Everything is real here: brokers as processes, their logs on disk, ZooKeeper. A step counts from its request, or from
the end of the dead broker's session, until every live broker's metadata tells clients of the new state. Three brokers
and ZooKeeper share the machine; CPU is each broker's own, all threads. benchmarks/controller.py has the controller's
share alone.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from benchmarks.protocol import Refused
from kafka_py.base.errors import ErrorCode
from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.cluster_views import controller, live, wait_brokers
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kafka_py.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponsePartition
from kafka_py.zk.kazoo_session import KazooSession

REPLICAS = 3
DEADLINE_S = 120.0
METADATA_VERSION = 5


class Took(NamedTuple):
    """Seconds until the answer (None where there is none), until all was done; CPU seconds by live broker."""

    answered: float | None
    done: float
    cpu: dict[int, float]


class Meter:
    """Processor time of the live brokers from where it is made."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self._brokers = live(cluster)
        self._before = {broker.broker_id: broker.cpu_seconds() for broker in self._brokers}

    def used(self) -> dict[int, float]:
        return {
            broker.broker_id: broker.cpu_seconds() - self._before[broker.broker_id]
            for broker in self._brokers
            if broker.running
        }


def even(topic: str, partitions: int) -> CreatableTopic:
    """Placed by the broker that makes it."""
    return CreatableTopic(
        name=topic, num_partitions=partitions, replication_factor=REPLICAS, assignments=[], configs=[]
    )


def placed(topic: str, replicas_of: Iterable[Sequence[int]]) -> CreatableTopic:
    """With these replicas, the leader first."""
    assignments = [
        CreatableReplicaAssignment(partition_index=number, broker_ids=list(replicas))
        for number, replicas in enumerate(replicas_of)
    ]
    return CreatableTopic(name=topic, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=[])


def ask_controller(cluster: KafkaCluster, topics: list[CreatableTopic]) -> None:
    """Raises Refused for the first topic that the controller does not make."""
    request = CreateTopicsRequest(topics=topics, timeout_ms=int(DEADLINE_S * 1000))
    with WireClient(cluster.brokers[controller(cluster)].bootstrap, timeout_s=DEADLINE_S) as client:
        for result in client.ask(request, 5).topics:
            if result.error_code:
                raise Refused(f"{result.name}: {ErrorCode(result.error_code).name}")


def ask_partitions(broker: AnyBroker, topics: Sequence[str] | None) -> list[MetadataResponsePartition]:
    """All partitions of these topics, or of every topic, as the broker knows them."""
    asked = None if topics is None else [MetadataRequestTopic(name=topic) for topic in topics]
    with WireClient(broker.bootstrap, timeout_s=DEADLINE_S) as client:
        answer = client.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False), METADATA_VERSION)
    return [row for topic in answer.topics for row in topic.partitions]


def wait_known(
    cluster: KafkaCluster, topics: Sequence[str] | None, partitions: int, without: int | None = None
) -> None:
    """Until every live broker knows so many partitions, each with a leader and every replica in sync.

    without: this broker has died; then a partition needs another leader, and no more. A broker that knows is not asked
    again.
    """

    def is_well(row: MetadataResponsePartition) -> bool:
        if without is not None:
            return row.leader_id not in (-1, without)
        return row.leader_id >= 0 and len(row.isr_nodes) == len(row.replica_nodes)

    def known(broker: AnyBroker) -> bool:
        rows = ask_partitions(broker, topics)
        return len(rows) >= partitions and all(map(is_well, rows))

    for broker in live(cluster):
        wait_until(partial(known, broker), DEADLINE_S, "the new metadata")


def create(cluster: KafkaCluster, topics: list[CreatableTopic], partitions: int) -> Took:
    """From the request until every replica is in sync in everybody's metadata."""
    meter = Meter(cluster)
    began = time.perf_counter()
    ask_controller(cluster, topics)
    answered = time.perf_counter() - began
    wait_known(cluster, [topic.name for topic in topics], partitions)
    return Took(answered, time.perf_counter() - began, meter.used())


def one_topic(cluster: KafkaCluster, options: argparse.Namespace) -> Took:
    return create(cluster, [even("one", options.partitions)], options.partitions)


def many_topics(cluster: KafkaCluster, options: argparse.Namespace) -> Took:
    return create(cluster, [even(f"many-{number}", 1) for number in range(options.topics)], options.topics)


async def _session_end(connect: str, broker_id: int, kill: Callable[[], None]) -> float:
    """Kills the broker; when its session ended, on the clock of perf_counter."""
    session = KazooSession(connect)
    await session.connect()
    try:
        gone: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        await session.exists(f"/brokers/ids/{broker_id}", lambda _: gone.set_result(time.perf_counter()))
        kill()
        return await gone
    finally:
        await session.close()


def killed(cluster: KafkaCluster, victim: int) -> tuple[float, Meter]:
    """When the session of the broker ended, after a kill -9; and what the others have used since."""
    broker = cluster.brokers[victim]
    ended = asyncio.run(_session_end(cluster.zookeeper_connect, victim, broker.kill))
    return ended, Meter(cluster)


def leader(cluster: KafkaCluster, options: argparse.Namespace) -> Took:
    """All partitions are led by a broker that is killed; until every one has another leader."""
    chief = controller(cluster)
    victim = next(broker.broker_id for broker in cluster.brokers if broker.broker_id != chief)
    others = [broker.broker_id for broker in cluster.brokers if broker.broker_id != victim]
    rows = [(victim, others[number % 2], others[(number + 1) % 2]) for number in range(options.partitions)]
    create(cluster, [placed("led", rows)], options.partitions)
    ended, meter = killed(cluster, victim)
    wait_known(cluster, ["led"], options.partitions, without=victim)
    took = Took(None, time.perf_counter() - ended, meter.used())
    bring_back(cluster, victim)
    return took


def fail_over(cluster: KafkaCluster, _: argparse.Namespace) -> Took:
    """The controller is killed, with all partitions made before; until another answers, then until all have leaders."""
    victim = controller(cluster)
    count = len(ask_partitions(cluster.brokers[victim], None))
    ended, meter = killed(cluster, victim)
    wait_until(lambda: controller(cluster) not in (-1, victim), DEADLINE_S, "another controller")
    with WireClient(cluster.brokers[controller(cluster)].bootstrap, timeout_s=DEADLINE_S) as client:
        client.ask(ListPartitionReassignmentsRequest(topics=None), 0)  # in its turn, so after all else
    answered = time.perf_counter() - ended
    wait_known(cluster, None, count, without=victim)
    took = Took(answered, time.perf_counter() - ended, meter.used())
    bring_back(cluster, victim)
    return took


def bring_back(cluster: KafkaCluster, victim: int) -> None:
    """The broker lives again, and all its replicas are in sync."""
    cluster.brokers[victim].start()
    wait_brokers(cluster, [broker.broker_id for broker in cluster.brokers])
    wait_known(cluster, None, 0)


RUNS: dict[str, Callable[[KafkaCluster, argparse.Namespace], Took]] = {
    "one topic": one_topic,
    "many topics": many_topics,
    "leader": leader,
    "controller": fail_over,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Times the controller on three real brokers.")
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(RUNS), help="steps, comma separated")
    options = parser.parse_args()
    with KafkaCluster(brokers=REPLICAS) as cluster:
        print("| step | answered | done | CPU of each broker |")
        print("|---|---:|---:|---|")
        for step in options.only:
            took = RUNS[step](cluster, options)
            answered = "" if took.answered is None else f"{took.answered:.2f} s"
            cpu = ", ".join(f"{seconds:.2f} s" for seconds in took.cpu.values())
            print(f"| {step} | {answered} | {took.done:.2f} s | {cpu} |", flush=True)


if __name__ == "__main__":
    main()
