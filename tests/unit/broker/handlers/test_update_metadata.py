"""UpdateMetadata: which of the operations that wait for the metadata cache are checked, and in how many turns."""

import asyncio
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_py.base.clock import Clock
from kafka_py.base.ids import LEADER_DURING_DELETE, ZERO_UUID, TopicPartition
from kafka_py.base.turns import Turn
from kafka_py.broker.handlers.brokers import update_metadata
from kafka_py.broker.metadata.metadata_cache import MetadataCache
from kafka_py.broker.requests.node import Node
from kafka_py.broker.requests.request_context import RequestContext
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

PARTITIONS = 600


class Waits:
    """A purgatory; what was checked is in `checked`, in that order."""

    def __init__(self, *keys: object) -> None:
        self.keys = list(keys)
        self.delayed = len(keys)
        self.checked: list[object] = []

    def watched_keys(self) -> list[object]:
        return self.keys

    def check_and_complete(self, key: object) -> None:
        if key in self.keys:
            self.checked.append(key)


def accept(*_: object) -> None:
    pass


def node_with(topic_waits: Waits, election_waits: Waits) -> Node:
    return cast(
        Node,
        SimpleNamespace(
            broker_epoch=1,
            roles=SimpleNamespace(lock=asyncio.Lock(), accept_controller=accept),
            metadata=MetadataCache(),
            coordinators=SimpleNamespace(topics_deleted=accept),
            deletion=SimpleNamespace(check_all=accept),
            quotas=SimpleNamespace(on_cluster_metadata=lambda _: iter(())),
            clock=ManualClock(),
            topic_waits=topic_waits,
            election_waits=election_waits,
        ),
    )


def update_of(topic: str, partitions: range) -> UpdateMetadataRequest:
    states = [
        UpdateMetadataPartitionState(
            topic_name=topic, partition_index=number, controller_epoch=1, leader=1, leader_epoch=0, isr=[1],
            zk_version=0, replicas=[1], offline_replicas=[],
        )
        for number in partitions
    ]  # fmt: skip
    topics = [UpdateMetadataTopicState(topic_name=topic, topic_id=ZERO_UUID, partition_states=states)]
    return UpdateMetadataRequest(
        controller_id=1,
        controller_epoch=1,
        broker_epoch=-1,
        ungrouped_partition_states=[],
        topic_states=topics,
        live_brokers=[],
    )


def test_only_the_topics_and_partitions_of_the_update_are_checked_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [0]

    class Counted(Turn):
        def __init__(self, clock: Clock) -> None:
            super().__init__(clock)
            asked.append(0)

        async def maybe_yield(self) -> None:
            asked[-1] += 1

    monkeypatch.setattr(update_metadata, "Turn", Counted)

    async def scenario() -> None:
        elections = Waits(*(TopicPartition("t", number) for number in range(PARTITIONS)))
        topics = Waits("", "t", "another")
        context: Any = SimpleNamespace(api_version=7, is_logged=True)
        mentioned = range(100, 150)
        request = update_of("t", mentioned)
        await update_metadata.handle(node_with(topics, elections), cast(RequestContext, context), request)
        assert topics.checked == ["", "t"]
        assert elections.checked == [TopicPartition("t", number) for number in mentioned]
        assert asked[-1] == len(topics.keys) + len(mentioned)
        only = Waits(TopicPartition("t", 100))
        await update_metadata.handle(node_with(Waits(), only), cast(RequestContext, context), request)
        assert only.checked == only.keys, "a single one that waits"
        await update_metadata.handle(node_with(Waits(), Waits()), cast(RequestContext, context), request)
        assert asked[-1] == 0, "nothing waits"

    asyncio.run(scenario())


def test_a_topic_that_is_gone_is_forgotten_once_and_a_quota_plug_in_is_told_to_the_end() -> None:
    async def scenario() -> None:
        forgotten: list[str] = []
        told: list[object] = []

        def telling(metadata: MetadataCache) -> Generator[None, None, None]:
            told.append(metadata.has_topic("t"))
            yield
            told.append("end")

        node: Any = node_with(Waits(), Waits())
        node.topic_configs = SimpleNamespace(forget=forgotten.append)
        node.replicas = SimpleNamespace(metrics=SimpleNamespace(drop_topic=forgotten.append))
        node.quotas.on_cluster_metadata = telling
        context: Any = SimpleNamespace(api_version=7, is_logged=True)
        await update_metadata.handle(node, context, update_of("t", range(3)))
        for partitions, gone in ((range(1), []), (range(1, 3), ["t", "t"])):
            request = update_of("t", partitions)
            for state in request.topic_states[0].partition_states:
                state.leader = LEADER_DURING_DELETE
            await update_metadata.handle(node, context, request)
            assert forgotten == gone
        assert told == [True, "end", True, "end", False, "end"]

    asyncio.run(scenario())
