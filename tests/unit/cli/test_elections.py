"""kafka-leader-election.sh and kafka-preferred-replica-election.sh over a stand-in admin client, and in ZooKeeper.

The texts are those of Apache Kafka 2.8.2 (docs/reference/tools.md, sections 6 and 7).
"""

import asyncio
import json
import re

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.cli import leader_election, preferred_replica_election
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.leader_election import Wording, elect
from kafka_py.clients.admin.results import Results
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.session import NodeExists
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
NEEDLESS = KafkaError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
UNKNOWN = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")


class FakeAdmin:
    def __init__(self, results):
        self.results = results
        self.asked = []

    def elect_leaders(self, kind, partitions):
        self.asked.append((kind, partitions))
        if isinstance(self.results, KafkaError):
            raise self.results
        return Results(self.results)


def test_what_was_elected_and_what_not_is_told(capsys):
    admin = FakeAdmin({T0: None, T1: None, T2: NEEDLESS})
    elect(admin, ElectionType.UNCLEAN, [T0, T1, T2], Wording(ElectionType.UNCLEAN))
    assert admin.asked == [(ElectionType.UNCLEAN, [T0, T1, T2])]
    assert capsys.readouterr().out.splitlines() == [
        "Successfully completed leader election (UNCLEAN) for partitions t-0, t-1",
        "Valid replica already elected for partitions t-0, t-1",
    ]


def test_a_failure_is_told_and_ends_the_command(capsys):
    with pytest.raises(CommandFailed, match=re.escape("1 preferred replica(s) could not be elected")):
        elect(FakeAdmin({T0: UNKNOWN}), ElectionType.PREFERRED, None, Wording())
    assert capsys.readouterr().out.splitlines() == [
        "Error completing preferred leader election for partition: t-0: "
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: The partition does not exist."
    ]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (ErrorCode.REQUEST_TIMED_OUT, "Timeout waiting for election results"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Not authorized to perform leader election"),
    ],
)
def test_a_request_that_fails_as_a_whole(code, says, capsys):
    with pytest.raises(CommandFailed, match=says):
        elect(FakeAdmin(KafkaError(code)), ElectionType.PREFERRED, None, Wording())
    assert capsys.readouterr().out == says + "\n"
    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
        elect(FakeAdmin(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)), ElectionType.PREFERRED, None, Wording())
    assert capsys.readouterr().out == "Error while making request\n"


def test_nothing_is_asked_for_an_empty_list():
    admin = FakeAdmin({})
    elect(admin, ElectionType.PREFERRED, [], Wording())
    assert admin.asked == []


BOOT = ["--bootstrap-server", "b:1"]
TYPE = ["--election-type", "preferred"]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (BOOT, CommandFailed, "Missing required option(s): election-type"),
        (TYPE, CommandFailed, "Missing required option(s): bootstrap-server"),
        ([*BOOT, *TYPE], CommandFailed,
         "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file"),
        ([*BOOT, *TYPE, "--topic", "t", "--all-topic-partitions"], CommandFailed, "One and only one of the following"),
        ([*BOOT, *TYPE, "--topic", "t"], CommandFailed, "Missing required option(s): partition"),
        ([*BOOT, *TYPE, "--partition", "1", "--all-topic-partitions"], CommandFailed,
         "Option partition is only allowed if topic is used"),
        ([*BOOT, "--election-type", "clean", "--all-topic-partitions"], UsageError,
         "Cannot parse argument 'clean' of option election-type"),
        ([*BOOT, *TYPE, "--topic", "t", "--partition", "x"], UsageError,
         "Cannot parse argument 'x' of option partition"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_together(arguments, error, says):
    with pytest.raises(error, match=re.escape(says)):
        leader_election.main(arguments)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{x", "Replica election data is empty"),
        ("{}", 'Replica election data is missing "partitions" field'),
        ('{"partitions":[{"topic":"t","partition":0},{"topic":"t","partition":0}]}',
         "Replica election data contains duplicate partitions: t-0"),
        ('{"partitions":[{"topic":"t"}]}', "Replica election data is malformed"),
        ('{"partitions":7}', "Replica election data is malformed"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_meant(text, says, tmp_path):
    file = tmp_path / "election.json"
    file.write_text(text)
    with pytest.raises(CommandFailed, match=re.escape(says)):
        leader_election.main([*BOOT, *TYPE, "--path-to-json-file", str(file)])


def test_a_file_that_is_not_there():
    with pytest.raises(CommandFailed, match="/nowhere"):
        leader_election.main([*BOOT, *TYPE, "--path-to-json-file", "/nowhere.json"])


def test_the_old_tool_says_that_it_is_old(capsys):
    with pytest.raises(UsageError, match=re.escape("Exactly one of '[bootstrap-server]' or '[zookeeper]' must be")):
        preferred_replica_election.main([*BOOT, "--zookeeper", "z:1"])
    assert capsys.readouterr().out.startswith("This tool is deprecated. Please use kafka-leader-election tool.")


def test_the_old_tools_znode(capsys):
    server = FakeZookeeper()

    async def scenario():
        session = server.session()
        await session.connect()
        store = ZkStore(session)
        await store.brokers.ensure_top_level_paths()
        await store.topics.create("t", TopicAssignment.of({0: [1], 1: [1]}))
        await preferred_replica_election.request_elections(store, [T1, TopicPartition("nope", 0)])
        written = json.loads(server.tree()["/admin/preferred_replica_election"])
        assert written == {"version": 1, "partitions": [{"topic": "t", "partition": 1}]}
        with pytest.raises(NodeExists):
            await preferred_replica_election.request_elections(store, None)
        await session.delete("/admin/preferred_replica_election")
        await preferred_replica_election.request_elections(store, None)
        await session.close()

    asyncio.run(scenario())
    assert capsys.readouterr().out.splitlines() == [
        "Created preferred replica election path with t-1",
        "Successfully started preferred replica election for partitions Set(t-1)",
        "Skipping preferred replica leader election for partition nope-0 since it doesn't exist.",
        "Created preferred replica election path with t-0,t-1",
        "Successfully started preferred replica election for partitions Set(t-0, t-1)",
    ]
