"""Metadata of thousands of partitions becomes a view in many turns of the event loop, and the same as in one."""

import asyncio
import uuid

from kafka_py.clients.metadata import ClusterView, view_of_response
from kafka_py.operations.cluster_view.look import PARTITIONS_PER_TURN, view_in_turns
from kafka_py.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def response(topics: int, partitions: int) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="h", port=9092, rack="r")],
        cluster_id="c",
        controller_id=1,
        topics=[
            MetadataResponseTopic(
                name=f"topic-{name}",
                topic_id=uuid.UUID(int=name + 1),
                is_internal=False,
                partitions=[
                    MetadataResponsePartition(
                        partition_index=number, leader_id=1, leader_epoch=3, replica_nodes=[1], isr_nodes=[1],
                        offline_replicas=[], error_code=0,
                    )
                    for number in range(partitions)
                ],
                error_code=0,
            )
            for name in range(topics)
        ],
    )  # fmt: skip


def test_the_view_is_the_same_as_in_one_turn_and_others_get_theirs() -> None:
    answer = response(30, 50)
    turns = 0

    async def run() -> ClusterView:
        nonlocal turns
        making = asyncio.ensure_future(view_in_turns(answer, 5.0))
        while not making.done():
            turns += 1
            await asyncio.sleep(0)
        return making.result()

    assert asyncio.run(run()) == view_of_response(response(30, 50), ClusterView(), 5.0)
    assert turns >= 30 * 50 // PARTITIONS_PER_TURN
    assert answer.topics == [], "they are freed meanwhile, not all of them at the end"


def test_a_cluster_without_topics_has_a_view_as_well() -> None:
    assert asyncio.run(view_in_turns(response(0, 0), 5.0)).nodes[1].rack == "r"
