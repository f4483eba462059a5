"""Why a broker must not be stopped now."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, UnseenPart, ViewPart
from kafka_py.operations.replacement.obstacles import missing_for_a_step, refused_settings, stopped_by


def topic(name: str, *partitions: tuple[tuple[int, ...], tuple[int, ...]]) -> TopicInfo:
    return TopicInfo(
        name, uuid.UUID(int=1), False,
        tuple(
            PartitionInfo(name, number, isr[0] if isr else -1, 1, replicas, isr, ())
            for number, (replicas, isr) in enumerate(partitions)
        ),
    )  # fmt: skip


HEALTHY = ClusterSnapshot(
    taken_ms=0,
    controller_id=1,
    nodes={number: Node(number, "a", 9092) for number in (0, 1)},
    topics={"t": topic("t", ((0, 1), (0, 1)), ((1, 0), (0, 1)))},
)


def test_nothing_is_missing() -> None:
    assert missing_for_a_step(HEALTHY, [0, 1]) == ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"nodes": {}}, "no broker answers"),
        ({"nodes": {1: Node(1, "a", 9092)}}, "broker 0 is not there"),
        ({"controller_id": -1}, "there is no controller"),
        ({"topics": {"t": topic("t", ((0, 1), (0,)))}}, "not in sync: t-0"),
        ({"topics": {"t": topic("t", ((0, 1), ()))}}, "not in sync: t-0"),
        ({"unseen": (UnseenPart(ViewPart.TOPICS, 1, "", ErrorCode.REQUEST_TIMED_OUT, "late"),)}, "late"),
    ],
)
def test_what_is_missing(changes: dict[str, object], told: str) -> None:
    assert told in missing_for_a_step(replace(HEALTHY, **changes), [0, 1])  # type: ignore[arg-type]


def test_a_reassignment_under_way() -> None:
    assert missing_for_a_step(HEALTHY, [0, 1], [TopicPartition("t", 1)]) == "being reassigned: t-1"


def test_what_is_away_meanwhile() -> None:
    snapshot = replace(HEALTHY, topics={**HEALTHY.topics, "single": topic("single", ((1,), (1,)), ((5,), (5,)))})
    assert stopped_by(snapshot, [0, 1], {"t": 1}) == [
        "1 partitions have one replica and are away meanwhile: single-0"
    ]
    alone, refused = stopped_by(snapshot, [0, 1], {"t": 2})
    assert "single-0" in alone
    assert refused.startswith("2 partitions take no writes")


@pytest.mark.parametrize("version", ["2.8", "2.8-IV1", "2.7", "0.10.2", None, "", "unknown"])
def test_settings_that_go(version: str | None) -> None:
    assert refused_settings({0: {"inter.broker.protocol.version": version, "process.roles": ""}}) == []


def test_settings_that_do_not_go() -> None:
    protocol, kraft = refused_settings(
        {0: {"inter.broker.protocol.version": "3.0-IV1"}, 1: {"process.roles": "broker,controller"}}
    )
    assert "inter.broker.protocol.version=3.0-IV1" in protocol
    assert "KRaft" in kraft
