"""What tests of whole clusters look at: leaders and in-sync sets as a broker tells them, and waiting for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import ask_metadata

DEADLINE_S = 60


class PartitionView(NamedTuple):
    """One partition as Metadata has it; isr sorted."""

    leader: int
    replicas: list[int]
    isr: list[int]


def partitions(broker: AnyBroker, topic: str) -> dict[int, PartitionView]:
    """The topic's partitions as this broker knows them; none while it does not know the topic."""
    [found] = ask_metadata(broker.bootstrap, [topic]).topics
    return {
        row.partition_index: PartitionView(row.leader_id, row.replica_nodes, sorted(row.isr_nodes))
        for row in found.partitions
    }


def leaders(broker: AnyBroker, topic: str) -> dict[int, int]:
    return {number: view.leader for number, view in partitions(broker, topic).items()}


def live(cluster: KafkaCluster) -> list[AnyBroker]:
    return [broker for broker in cluster.brokers if broker.running]


def controller(cluster: KafkaCluster) -> int:
    """Who all running brokers take for the controller; -1 while they do not agree."""
    known = {ask_metadata(broker.bootstrap).controller_id for broker in live(cluster)}
    return known.pop() if len(known) == 1 else -1


def other_than(cluster: KafkaCluster, *ids: int) -> AnyBroker:
    """A running broker that is none of these."""
    return next(broker for broker in live(cluster) if broker.broker_id not in ids)


def wait_brokers(cluster: KafkaCluster, ids: Sequence[int]) -> None:
    """Until every one of these brokers knows that just these are alive, and who is the controller."""

    def agreed() -> bool:
        answers = [ask_metadata(cluster.brokers[id_].bootstrap) for id_ in ids]
        return all(
            sorted(broker.node_id for broker in answer.brokers) == sorted(ids) and answer.controller_id in ids
            for answer in answers
        )

    wait_until(agreed, DEADLINE_S, f"brokers {list(ids)} to be the cluster")


def wait_seen(cluster: KafkaCluster, topic: str, holds: Callable[[dict[int, PartitionView]], bool], what: str) -> None:
    """Until every running broker sees the topic so."""

    def seen() -> bool:
        return all(holds(partitions(broker, topic)) for broker in live(cluster))

    try:
        wait_until(seen, DEADLINE_S, what)
    except Exception as error:
        error.add_note(f"{topic} is {partitions(live(cluster)[0], topic)}")
        raise


def wait_in_sync(cluster: KafkaCluster, topic: str) -> None:
    """Until every replica on a running broker is in sync."""
    running = {broker.broker_id for broker in live(cluster)}

    def whole(views: dict[int, PartitionView]) -> bool:
        return bool(views) and all(set(view.isr) >= set(view.replicas) & running for view in views.values())

    wait_seen(cluster, topic, whole, f"{topic} to be in sync")
