"""The offsets topic goes from Apache's broker to ours and back: commits of every version, groups with their members.

The same ZooKeeper, port, broker id and folder all along; only the software changes. What OffsetFetch and DescribeGroups
say must not. And the other way round Apache's own tools read what we have written.
"""

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.peers.apache import ApacheBroker
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import create_topic
from kafka_py.wire.compiler import encode_versioned
from kafka_py.wire.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_py.wire.messages.delete_groups import DeleteGroupsRequest
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_py.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

TOPIC = "read"
READY_S = 60
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "zookeeper.session.timeout.ms": "6000",
    "zookeeper.connection.timeout.ms": "60000",
    "offsets.retention.check.interval.ms": "600000",
}
SESSION_MS = 600_000


class Journey:
    """One directory, the broker that has it, and what is known of the groups."""

    def __init__(self, apache_kafka, folder, zookeeper_connect, settings=None):
        given = SETTINGS | (settings or {})
        log_dirs = [folder / "disk"]
        self.apache = ApacheBroker(folder / "apache", zookeeper_connect, broker_id=7, log_dirs=log_dirs, settings=given)
        self.ours = BrokerProcess(folder / "ours", zookeeper_connect, broker_id=7, log_dirs=log_dirs, settings=given)
        self.ours.port = self.apache.port
        self.ours.properties["listeners"] = self.apache.properties["listeners"]
        self.bootstrap = self.apache.bootstrap
        self.groups = []

    def ask(self, request, version):
        with WireClient(self.bootstrap) as client:
            return client.ask(request, version)

    def wait_coordinators(self, *more):
        for group in (*self.groups, *more):
            wait_until(lambda group=group: self._serves(group), READY_S, f"the coordinator of {group}")

    def _serves(self, group):
        if self.ask(FindCoordinatorRequest(key=group, key_type=0), 3).error_code:
            return False
        return self.ask(OffsetFetchRequest(group_id=group, topics=None), 5).error_code == 0

    def commit(self, group, offset, version, **fields):
        """For both partitions of the topic."""
        if group not in self.groups:
            self.wait_coordinators(group)
            self.groups.append(group)
        rows = [
            OffsetCommitRequestPartition(partition_index=number, committed_offset=offset + number,
                                         committed_metadata=f"über {offset}")
            for number in range(2)
        ]  # fmt: skip
        if version >= 6:
            rows[0].committed_leader_epoch = 5
        topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=rows)]
        values = {"group_id": group, "member_id": "", "topics": topics} | fields
        answer = self.ask(OffsetCommitRequest(**values), version)
        assert {row.error_code for row in answer.topics[0].partitions} == {0}, answer

    def commit_in_every_version(self, base):
        for version in range(1, 9):
            self.commit(f"simple-{version}", base + version, version)
        self.commit("expiring", base, 3, retention_time_ms=10**9)

    def join(self, group, instance_id=None):
        """A member that stays: its id and generation."""
        if group not in self.groups:
            self.wait_coordinators(group)
            self.groups.append(group)
        metadata = encode_versioned(ConsumerProtocolSubscription(topics=[TOPIC]), 1)
        request = JoinGroupRequest(
            group_id=group, session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS, member_id="",
            group_instance_id=instance_id, protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )  # fmt: skip
        joined = self.ask(request, 5 if instance_id else 3)
        assert joined.error_code == 0, joined
        rows = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all of it")]
        request = SyncGroupRequest(
            group_id=group, generation_id=joined.generation_id, member_id=joined.member_id, assignments=rows
        )
        assert self.ask(request, 1).error_code == 0
        return {"member_id": joined.member_id, "generation_id": joined.generation_id}

    def commit_to_zookeeper(self, offset):
        rows = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")]
        topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=rows)]
        answer = self.ask(OffsetCommitRequest(group_id="oldest", member_id="", topics=topics), 0)
        assert answer.topics[0].partitions[0].error_code == 0

    def in_zookeeper(self):
        """Version 0: the stored offset of partition 0, and the error of a partition that has none."""
        topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0, 1])]
        found, absent = self.ask(OffsetFetchRequest(group_id="oldest", topics=topics), 0).topics[0].partitions
        return found.committed_offset, found.error_code, absent.committed_offset, absent.error_code

    def state(self):
        """All that clients can learn of the groups."""
        self.wait_coordinators()
        found = {}
        for group in self.groups:
            offsets = self.ask(OffsetFetchRequest(group_id=group, topics=None), 5)
            rows = {
                (topic.name, row.partition_index): (row.committed_offset, row.committed_leader_epoch, row.metadata)
                for topic in offsets.topics
                for row in topic.partitions
            }
            [described] = self.ask(DescribeGroupsRequest(groups=[group]), 4).groups
            members = sorted(
                (member.member_id, member.group_instance_id, member.client_id, member.client_host,
                 bytes(member.member_metadata), bytes(member.member_assignment))
                for member in described.members
            )  # fmt: skip
            found[group] = rows, described.group_state, described.protocol_type, described.protocol_data, members
        return found


@pytest.fixture
def journey(apache_kafka, tmp_path, zk_chroot):
    made = Journey(apache_kafka, tmp_path, zk_chroot)
    yield made
    made.apache.kill()
    made.ours.kill()


def test_groups_and_offsets_cross_from_apache_to_ours_and_back(journey):
    journey.apache.start()
    create_topic([journey.bootstrap], TOPIC, 2)
    journey.commit_in_every_version(100)
    first = journey.join("members")
    journey.commit("members", 7, 7, **first)
    static = journey.join("static", "instance-1")
    journey.commit_to_zookeeper(33)
    assert journey.in_zookeeper() == (33, 0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    of_apache = journey.state()
    assert of_apache["members"][1] == "Stable" and of_apache["simple-8"][0][(TOPIC, 0)] == (108, 5, "über 108")
    journey.apache.stop()

    journey.ours.start()
    assert journey.state() == of_apache
    assert journey.in_zookeeper() == (33, 0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    journey.commit_to_zookeeper(44)
    journey.commit("members", 8, 8, **first)  # the member goes on, it has noticed nothing
    journey.commit("static", 9, 8, group_instance_id="instance-1", **static)
    journey.commit_in_every_version(200)
    journey.join("joined-here")
    [deleted] = journey.ask(DeleteGroupsRequest(groups_names=["simple-1"]), 1).results
    assert deleted.error_code == 0
    of_ours = journey.state()
    assert of_ours["simple-1"][0] == {} and of_ours["simple-1"][1] == "Dead"
    assert of_ours["static"][0][(TOPIC, 1)] == (10, -1, "über 9")
    journey.ours.kill()
    journey.ours.start()
    assert journey.state() == of_ours
    journey.ours.stop()

    journey.apache.start()
    assert journey.state() == of_ours
    assert journey.in_zookeeper()[:2] == (44, 0)
    journey.commit("members", 20, 8, **first)
    assert journey.state()["members"][0][(TOPIC, 0)] == (20, 5, "über 20")
