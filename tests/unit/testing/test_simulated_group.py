"""A committed offset that goes back is seen; one that only a replaced coordinator denies is not held against it."""

import asyncio
import random

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.testing.simulation.cluster import SimulatedCluster
from kafka_py.testing.simulation.group import SimulatedGroup
from kafka_py.testing.simulation.nodes import NodeLoop
from kafka_py.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from kafka_py.wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

T0 = TopicPartition("t", 0)


class Coordinator:
    """Answers as one that knows `offset`."""

    closed = False
    offset = 0

    async def send(self, request, _version):
        if isinstance(request, DescribeGroupsRequest):
            described = DescribedGroup(group_id="g", group_state="Stable", protocol_type="consumer", protocol_data="",
                                       members=[], error_code=0)  # fmt: skip
            return DescribeGroupsResponse(groups=[described])
        partition = OffsetFetchResponsePartition(
            partition_index=0, committed_offset=self.offset, metadata="", error_code=0
        )
        return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="t", partitions=[partition])], error_code=0)


@pytest.fixture
def group(monkeypatch):
    loop = NodeLoop()
    cluster = SimulatedCluster(loop, random.Random(1), 1, {})
    monkeypatch.setattr(cluster, "servers", lambda: iter(cluster.brokers))
    made = SimulatedGroup(cluster, "t", [T0], [].append)
    made.faults_seen = []
    made.read[T0] = set(range(7))
    made._report = made.faults_seen.append
    made._wires["broker1"] = made.coordinator = Coordinator()
    made.epochs = {"broker1": 4}
    monkeypatch.setattr(made, "_epoch", lambda broker: made.epochs[broker.name])
    monkeypatch.setattr(made, "_newest_epoch", lambda: 4)
    yield made
    loop.close()


def test_a_commit_of_what_nobody_has_read_is_a_fault(group):
    group.read[T0] = {0, 1}
    group.coordinator.offset = 3
    ask(group)
    assert group.faults_seen == ["t-0: 3 is committed, members have read up to 2"]


def ask(group):
    asyncio.run(group._ask(group.cluster.brokers[0]))


def test_an_acknowledged_commit_is_found_again(group):
    group.acknowledged({T0: 7})
    group.coordinator.offset = 7
    ask(group)
    assert group.faults_seen == []
    assert (group.seen[T0], group.state) == (7, "Stable with 0")


def test_an_acknowledged_commit_that_is_gone_is_a_fault(group):
    group.acknowledged({T0: 7})
    group.epochs["broker1"] = 5
    group.coordinator.offset = 6
    ask(group)
    assert len(group.faults_seen) == 1


def test_a_coordinator_of_an_older_epoch_may_not_know_it(group):
    group.acknowledged({T0: 7})
    group.epochs["broker1"] = 3
    group.coordinator.offset = 6
    ask(group)
    assert group.faults_seen == []


def test_a_record_that_reached_no_member_is_a_fault(group):
    group.read[T0] = {0, 1}
    assert group.faults({T0: [0, 1, 2]}) == ["t-0: no member has read 1 acknowledged records, at [2]"]
