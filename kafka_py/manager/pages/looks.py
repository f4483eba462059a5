"""One look at a cluster for a page, within the time that somebody waits for a page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.web.answers import ProblemRow
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

PATIENCE = LookLimits(timeout_ms=5_000)
SETTLING_ROUNDS, SETTLING_PAUSE_S = 30, 0.1


async def seen(
    cluster: ManagedCluster, *parts: ViewPart, topics: Collection[str] | None = None
) -> ClusterSnapshot:
    """The cluster as it is now. Raises KafkaError if no broker answers at all."""
    snapshot = await look_at(cluster.admin, parts, topics=topics, limits=PATIENCE)
    if not snapshot.is_reached:
        why = snapshot.unseen_of(None)
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION, why[0].detail if why else "no broker answers")
    return snapshot


async def wait_settled(cluster: ManagedCluster, topic: str, partitions: int) -> None:
    """Waits shortly until every broker that was asked knows that many partitions of a topic, 0 for none.

    Brokers learn of a change one after the other, and the next page may ask any of them.
    """
    with contextlib.suppress(KafkaError, OSError):  # the change is made all the same
        nodes = (await cluster.admin.describe_cluster()).nodes
        for _ in range(SETTLING_ROUNDS):
            found = await asyncio.gather(*(_known(cluster, node.id, topic) for node in nodes))
            if all(number == partitions for number in found):
                return
            await asyncio.sleep(SETTLING_PAUSE_S)


async def _known(cluster: ManagedCluster, broker: int, topic: str) -> int:
    """How many partitions with a leader a broker knows."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    await cluster.admin.know(broker)
    answer = await cluster.admin.cluster.send(broker, request)
    return sum(each.leader_id >= 0 for row in answer.topics for each in row.partitions)


def problems_of(snapshot: ClusterSnapshot) -> list[ProblemRow]:
    """What could not be seen, as rows of a page."""
    return [
        ProblemRow(
            ("metadata" if each.part is None else each.part.value.replace("_", " "))
            + ("" if each.broker is None else f" of broker {each.broker}"),
            f"{each.item} {each.code.name}: {each.detail}".strip(),
        )
        for each in snapshot.unseen[:20]
    ]
