"""look_at: one look at a cluster, all of it or the parts that are wanted.

First the metadata of any broker, then everything else at the same time.
Source: KIP-430, KIP-700; docs/reference/protocol.md, section 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Container, Mapping
from dataclasses import replace
from typing import Any

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.metadata import ClusterView, TopicInfo, view_of_response
from kafka_py.operations.cluster_view.asking import LookLimits, LookRequests, first_answer, in_time
from kafka_py.operations.cluster_view.brokers import versions_of
from kafka_py.operations.cluster_view.groups import groups_of
from kafka_py.operations.cluster_view.log_dirs import log_dirs_of
from kafka_py.operations.cluster_view.offsets import offsets_of
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

ALL_PARTS = frozenset(ViewPart)
OF_PARTITIONS = frozenset({ViewPart.TOPICS, ViewPart.OFFSETS})
PARTITIONS_PER_TURN = 200
OF_GROUPS = frozenset({ViewPart.GROUPS, ViewPart.COMMITTED})


async def look_at(
    admin: AsyncAdminClient,
    parts: Collection[ViewPart] = ALL_PARTS,
    *,
    topics: Collection[str] | None = None,
    groups: Container[str] | None = None,
    without: Collection[int] = (),
    limits: LookLimits | None = None,
) -> ClusterSnapshot:
    """What the cluster is like now. Raises nothing because of a broker: `unseen` of the snapshot names what failed.

    parts: what to ask for beside nodes and controller; offsets bring the topics along.
    topics, groups: only these; None: all. without: brokers that are not asked, such as known to be out of reach.
    """
    asker = LookRequests(admin, limits or LookLimits())
    clock = admin.cluster.clock
    taken_ms, began_ms = clock.wall_ms(), clock.monotonic_ms()
    view = await _metadata(asker, OF_PARTITIONS.isdisjoint(parts), topics)
    brokers = sorted(view.nodes.keys() - set(without))
    infos = [info for topic in view.topics.values() for info in topic.partitions]
    versions, log_dirs, offsets, seen_groups = await asyncio.gather(
        versions_of(asker, brokers if ViewPart.VERSIONS in parts else ()),
        log_dirs_of(asker, brokers if ViewPart.LOG_DIRS in parts else ()),
        offsets_of(asker, infos if ViewPart.OFFSETS in parts else (), brokers),
        groups_of(
            asker,
            () if OF_GROUPS.isdisjoint(parts) else brokers,
            groups,
            members=ViewPart.GROUPS in parts,
            committed=ViewPart.COMMITTED in parts,
        ),
    )
    return ClusterSnapshot(
        taken_ms=taken_ms,
        took_ms=clock.monotonic_ms() - began_ms,
        cluster_id=view.cluster_id,
        controller_id=view.controller_id,
        nodes=dict(sorted(view.nodes.items())),
        versions=versions,
        topics={name: view.topics[name] for name in sorted(view.topics)},
        log_dirs=log_dirs,
        offsets=offsets,
        groups=seen_groups,
        unseen=tuple(asker.unseen),
    )


async def _metadata(asker: LookRequests, without_topics: bool, topics: Collection[str] | None) -> ClusterView:
    """The cluster as one broker sees it; without nodes if none answers."""
    names: list[MetadataRequestTopic] | None = [MetadataRequestTopic(name=name) for name in topics or ()]
    if without_topics:
        names = []
    elif topics is None:
        names = None
    request = MetadataRequest(topics=names, allow_auto_topic_creation=False)

    async def send() -> Any:
        return await first_answer(asker.admin.cluster, request, asker.limits.timeout_ms)

    try:
        response = await in_time(send, asker.limits.timeout_ms)
    except KafkaError as error:
        asker.note(None, None, error)
        return ClusterView()
    return await view_in_turns(response, asker.admin.cluster.clock.monotonic_ms())


async def view_in_turns(response: MetadataResponse, now_ms: float) -> ClusterView:
    """The view, made of a few topics at a time, so that thousands of partitions do not hold the event loop.

    The response loses its topics meanwhile: to free all of them at its end would hold the loop as well.
    """
    without_topics = MetadataResponse(
        brokers=response.brokers, cluster_id=response.cluster_id, controller_id=response.controller_id, topics=[]
    )
    view = view_of_response(without_topics, ClusterView(), now_ms)
    found: dict[str, TopicInfo] = {}
    some: list[MetadataResponseTopic] = []
    cost = 0
    remaining = response.topics
    remaining.reverse()
    while remaining:
        topic = remaining.pop()
        some.append(topic)
        cost += 1 + len(topic.partitions)
        if cost >= PARTITIONS_PER_TURN:
            found.update(_topics_of(some))
            some, cost = [], 0
            await asyncio.sleep(0)
    found.update(_topics_of(some))
    return replace(view, topics=found)


def _topics_of(topics: list[MetadataResponseTopic]) -> Mapping[str, TopicInfo]:
    return view_of_response(MetadataResponse(brokers=[], topics=topics), ClusterView(), 0.0).topics
