"""Requests that name very many resources hold the loop no longer than others, although each name is looked at.

A denial is a line in the audit log, which takes some 15 microseconds; here it moves the clock of the test.
"""

import asyncio
import tempfile

import pytest

from kafka_py.base.clock import SystemClock
from kafka_py.base.errors import ErrorCode
from kafka_py.security.acls.authorization import AllowAll, Asker, Audit
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.testing.local_broker import LocalBroker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from kafka_py.wire.messages.delete_records import DeleteRecordsRequest, DeleteRecordsTopic
from kafka_py.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.list_groups import ListGroupsRequest
from kafka_py.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsTopic
from kafka_py.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestTopic
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderTopic

DENIAL_MS = 0.02
MOST = 310
"""Denials of two turns, between which the count may not begin again."""
NAMES = [f"t{number}" for number in range(3000)]
FEW = NAMES[:450]
"""So many that the request is still a small one."""


class MovedClock(SystemClock):
    """The machine's time, and what the test adds to it."""

    __slots__ = ("added_ms",)

    def __init__(self) -> None:
        self.added_ms = 0.0

    def monotonic_ms(self) -> float:
        return super().monotonic_ms() + self.added_ms


class SlowDenial(AllowAll):
    """Denies resources of some types, slowly, and counts how often it does so in one turn of the loop."""

    __slots__ = ("_clock", "_denied", "_now", "denies", "most")

    def __init__(self, clock: MovedClock, denies: tuple[ResourceType, ...]) -> None:
        self._clock = clock
        self._denied = 0
        self._now = 0
        self.denies = denies
        self.most = 0

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, audit: Audit = Audit.ALWAYS, /
    ) -> bool:
        if resource_type not in self.denies:
            return True
        self._clock.added_ms += DENIAL_MS
        if not self._denied:
            asyncio.get_running_loop().call_soon(self._end)
        self._denied += 1
        self.most = max(self.most, self._denied)
        return False

    def _end(self) -> None:
        self._denied = 0


TOPIC = (ResourceType.TOPIC, ResourceType.CLUSTER)
NOT_ASKED = ("OffsetCommit, small", "AddPartitionsToTxn, small")
"""Topics without a partition need no permission, if there are many of them."""
COMMITTED = OffsetCommitRequestPartition(partition_index=0, committed_offset=0, committed_metadata="")
REQUESTS = {
    "DeleteRecords": (
        DeleteRecordsRequest(
            timeout_ms=1, topics=[DeleteRecordsTopic(name=each, partitions=[]) for each in NAMES]
        ), 2
    ),
    "DescribeProducers": (
        DescribeProducersRequest(topics=[TopicRequest(name=each, partition_indexes=[]) for each in NAMES]), 0
    ),
    "ListOffsets": (
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=each, partitions=[]) for each in NAMES]), 5
    ),
    "ListOffsets, small": (
        ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[]) for _ in FEW]), 6
    ),
    "OffsetForLeaderEpoch": (
        OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=each, partitions=[]) for each in NAMES]), 3
    ),
    "OffsetDelete": (
        OffsetDeleteRequest(
            group_id="g", topics=[OffsetDeleteRequestTopic(name=each, partitions=[]) for each in NAMES]
        ), 0
    ),
    "OffsetFetch": (
        OffsetFetchRequest(
            group_id="g", topics=[OffsetFetchRequestTopic(name=each, partition_indexes=[]) for each in NAMES]
        ), 5
    ),
    "OffsetCommit": (
        OffsetCommitRequest(
            group_id="g",
            topics=[
                OffsetCommitRequestTopic(name=each, partitions=[COMMITTED])
                for each in NAMES
            ],
        ), 7
    ),
    NOT_ASKED[0]: (
        OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="t", partitions=[]) for _ in FEW]), 8
    ),
    NOT_ASKED[1]: (
        AddPartitionsToTxnRequest(
            transactional_id="x", producer_id=1, producer_epoch=0,
            topics=[AddPartitionsToTxnTopic(name=each, partitions=[]) for each in FEW]
        ), 2
    ),
    "Metadata, some": (
        MetadataRequest(
            topics=[MetadataRequestTopic(name=each) for each in FEW[:190]], allow_auto_topic_creation=False
        ), 9
    ),
    "Metadata, many": (
        MetadataRequest(topics=[MetadataRequestTopic(name=each) for each in NAMES], allow_auto_topic_creation=False), 9
    ),
}  # fmt: skip


async def find(broker: LocalBroker, key: str) -> None:
    while (await broker.ask(FindCoordinatorRequest(key=key, key_type=0), 3)).error_code != ErrorCode.NONE:
        pass


def measured(run) -> None:
    """Runs a scenario with a broker and a clock."""

    async def scenario(folder: str) -> None:
        clock = MovedClock()
        settings = {"offsets.topic.num.partitions": "1", "offsets.topic.replication.factor": "1",
                    "group.initial.rebalance.delay.ms": "0"}  # fmt: skip
        broker = LocalBroker(folder, FakeZookeeper(), settings, clock=clock)
        await broker.start()
        try:
            await find(broker, "g")
            await run(broker, clock)
        finally:
            broker.server.node.authorizer = AllowAll()
            await broker.stop()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(folder))


@pytest.mark.parametrize("name", REQUESTS)
def test_topics_that_are_denied_are_looked_at_in_turns(name: str) -> None:
    request, version = REQUESTS[name]

    async def run(broker: LocalBroker, clock: MovedClock) -> None:
        denial = broker.server.node.authorizer = SlowDenial(clock, TOPIC)
        await broker.ask(request, version)
        assert denial.most <= MOST
        assert bool(denial.most) == (name not in NOT_ASKED)

    measured(run)


def test_groups_that_are_not_listed_are_looked_at_in_turns() -> None:
    async def run(broker: LocalBroker, clock: MovedClock) -> None:
        protocol = JoinGroupRequestProtocol(name="p", metadata=b"")
        for number in range(400):
            join = JoinGroupRequest(
                group_id=f"g{number}", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id="",
                protocol_type="consumer", protocols=[protocol],
            )  # fmt: skip
            while (await broker.ask(join, 3)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                pass
        denial = broker.server.node.authorizer = SlowDenial(clock, (ResourceType.CLUSTER, ResourceType.GROUP))
        assert (await broker.ask(ListGroupsRequest(), 3)).groups == []
        assert 0 < denial.most <= MOST

    measured(run)


def test_offsets_that_are_not_shown_are_looked_at_in_turns() -> None:
    async def run(broker: LocalBroker, clock: MovedClock) -> None:
        for name in FEW:
            await broker.create_topic(name)
        commit = OffsetCommitRequest(
            group_id="g",
            topics=[
                OffsetCommitRequestTopic(
                    name=each, partitions=[COMMITTED]
                )
                for each in FEW
            ],
        )
        answer = await broker.ask(commit, 7)
        assert {row.error_code for topic in answer.topics for row in topic.partitions} == {ErrorCode.NONE}
        denial = broker.server.node.authorizer = SlowDenial(clock, TOPIC)
        assert (await broker.ask(OffsetFetchRequest(group_id="g", topics=None), 5)).topics == []
        assert 0 < denial.most <= MOST

    measured(run)
