"""OffsetFetch: what a consumer is told of commits that are undecided (KIP-447)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.broker.handlers.groups import offset_fetch
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import CommittedOffset, GroupOffsets
from kafka_py.coordinator.groups.states import DEAD
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

STABLE, PLAIN, IN_TRANSACTION, NEW = (TopicPartition("t", number) for number in range(4))
UNSTABLE = (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)


def group() -> Group:
    """Three partitions with a commit that holds; of two of them, and of one more, another is on its way."""
    offsets = GroupOffsets()
    for where in (STABLE, PLAIN, IN_TRANSACTION):
        offsets.committed[where] = CommittedOffset(5, 2, "", 0, record_offset=1)
    later = CommittedOffset(6, 2, "", 0)
    offsets.prepare({PLAIN: later})
    offsets.prepare_txn(7, {IN_TRANSACTION: later, NEW: later})
    offsets.appended_txn(7, {IN_TRANSACTION: later}, 2)
    return Group("g", offsets, 0)


def fetched(found: Group | None, *, stable: bool, every: bool = False) -> dict[int, tuple[int, ErrorCode]]:
    """By partition. every: without naming any."""
    groups = SimpleNamespace(check=lambda _group_id, may_be_empty: None, get=lambda _group_id: found)
    node: Any = SimpleNamespace(
        authorizer=ALLOW_ALL, clock=ManualClock(), coordinators=SimpleNamespace(groups=groups)
    )
    context: Any = SimpleNamespace(api_version=7)
    topics = None if every else [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1, 2, 3])]
    request = OffsetFetchRequest(group_id="g", topics=topics, require_stable=stable)
    response = asyncio.run(offset_fetch.handle(node, context, request))
    assert response.error_code == ErrorCode.NONE
    return {
        row.partition_index: (row.committed_offset, ErrorCode(row.error_code))
        for topic in response.topics
        for row in topic.partitions
    }


def test_undecided_commits_are_told_to_who_wants_stable_offsets() -> None:
    assert fetched(group(), stable=True) == {0: (5, ErrorCode.NONE), 1: UNSTABLE, 2: UNSTABLE, 3: UNSTABLE}


def test_others_get_what_holds_now() -> None:
    known = (5, ErrorCode.NONE)
    assert fetched(group(), stable=False) == {0: known, 1: known, 2: known, 3: (-1, ErrorCode.NONE)}


def test_who_names_no_partitions_gets_those_of_which_a_commit_holds() -> None:
    assert fetched(group(), stable=True, every=True) == {0: (5, ErrorCode.NONE), 1: UNSTABLE, 2: UNSTABLE}


@pytest.mark.parametrize("stable", [True, False])
def test_a_group_that_is_gone_has_no_offsets(stable: bool) -> None:
    gone = group()
    gone.become(DEAD, 0)
    for found in (None, gone):
        assert set(fetched(found, stable=stable).values()) == {(-1, ErrorCode.NONE)}
