"""kafka-reassign-partitions.sh: the rules between its options, and its actions over a stand-in admin client.

What is printed is what Apache Kafka 2.8.2 prints (docs/reference/tools.md, section 5).
"""

import json
import re
from types import SimpleNamespace

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed, Refused, UsageError
from kafka_py.cli.reassign_partitions import check, parser
from kafka_py.cli.reassignment import reassign_admin
from kafka_py.clients.admin.brokers import ClusterDescription
from kafka_py.clients.admin.log_dirs import ReplicaLogDirs, TopicPartitionReplica
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.clients.admin.resources import AlterOperation
from kafka_py.clients.admin.results import Results
from kafka_py.clients.metadata import Node
from kafka_py.operations.reassignments.plans import parse_plan

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FILE = "--reassignment-json-file f"


@pytest.mark.parametrize(
    ("line", "action"),
    [
        (f"--bootstrap-server b --verify {FILE} --preserve-throttles", "verify"),
        (f"--zookeeper z --execute {FILE} --throttle 5", "execute"),
        (f"--zookeeper z --bootstrap-server b --execute {FILE} --additional --timeout 5", "execute"),
        ("--zookeeper z --generate --topics-to-move-json-file f --broker-list 1 --disable-rack-aware", "generate"),
        ("--bootstrap-server b --list --command-config c", "list"),
        (f"--bootstrap-server b --cancel {FILE} --timeout 5", "cancel"),
    ],
)
def test_options_that_fit(line, action):
    assert check(parser().parse(line.split())) == action


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"--bootstrap-server b {FILE}", "Command must include exactly one action: --generate"),
        (f"--bootstrap-server b --list --verify {FILE}", "Command must include exactly one action"),
        ("--bootstrap-server b --execute", 'Missing required argument "[reassignment-json-file]"'),
        ("--bootstrap-server b --generate --broker-list 1", 'Missing required argument "[topics-to-move-json-file]"'),
        (f"--bootstrap-server b --verify {FILE} --broker-list 1",
         'Option "[broker-list]" can\'t be used with action "[verify]"'),
        (f"--bootstrap-server b --verify {FILE} --additional", 'Option "[additional]" can\'t be used with'),
        (f"--zookeeper z --execute {FILE} --additional",
         'You must specify --bootstrap-server when using "[additional]"'),
        (f"--zookeeper z --verify {FILE} --command-config c", 'You must specify --bootstrap-server when using'),
        (f"--zookeeper z --cancel {FILE}", 'Option "[zookeeper]" can\'t be used with action "[cancel]"'),
        ("--list", "Please specify --bootstrap-server"),
        (f"--verify {FILE}", "Please specify --bootstrap-server"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(line, says):
    with pytest.raises((UsageError, CommandFailed), match=re.escape(says)):
        check(parser().parse(line.split()))


class FakeAdmin:
    """Brokers 0 to 2 and topic t with two partitions on 0 and 1."""

    def __init__(self, running=None, errors=None, places=None):
        self.running = running or {}
        self.errors = errors or {}
        self.places = places or {}
        self.targets, self.settings, self.moves = {}, [], []

    def describe_cluster(self):
        return ClusterDescription("c", None, [Node(id_, "h", 1) for id_ in range(3)])

    def describe_topics(self, names):
        nodes = [Node(0, "h", 1), Node(1, "h", 1)]
        topic = SimpleNamespace(partitions=[SimpleNamespace(partition=number, replicas=nodes) for number in (0, 1)])
        unknown = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return Results({name: topic if name == "t" else unknown for name in names})

    def list_partition_reassignments(self, partitions=None):
        return {tp: one for tp, one in self.running.items() if partitions is None or tp in partitions}

    def alter_partition_reassignments(self, targets):
        self.targets = dict(targets)
        return Results({partition: self.errors.get(partition) for partition in targets})

    def incremental_alter_configs(self, changes):
        self.settings.append(
            {resource.name: {one.name: one.value for one in edits} for resource, edits in changes.items()}
        )
        assert all(
            (one.value is None) == (one.operation is AlterOperation.DELETE) for e in changes.values() for one in e
        )
        return Results(dict.fromkeys(changes))

    def describe_replica_log_dirs(self, replicas):
        return Results({replica: self.places[replica] for replica in replicas})

    def alter_replica_log_dirs(self, moves):
        self.moves.append(dict(moves))
        late = KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE)
        return Results(dict.fromkeys(moves, late if len(self.moves) < 2 else None))


def options(**given):
    defaults = {"additional": False, "throttle": -1, "replica_alter_log_dirs_throttle": -1, "timeout": 10_000,
                "preserve_throttles": False, "disallow_replication_factor_change": False}  # fmt: skip
    return SimpleNamespace(**{**defaults, **given})


def plan(*rows, **fields):
    entries = [{"topic": topic, "partition": number, "replicas": ids, **fields} for topic, number, ids in rows]
    return parse_plan(json.dumps({"version": 1, "partitions": entries}))


def test_execute_throttles_then_begins(capsys):
    admin = FakeAdmin()
    reassign_admin.execute(admin, plan(("t", 0, [1, 2]), ("t", 1, [2])), options(throttle=500))
    assert admin.targets == {T0: [1, 2], T1: [2]}
    assert admin.settings == [
        {"t": {"leader.replication.throttled.replicas": "0:0,0:1,1:0,1:1",
               "follower.replication.throttled.replicas": "0:2,1:2"}},
        {broker: {"leader.replication.throttled.rate": "500", "follower.replication.throttled.rate": "500"}
         for broker in ("0", "1", "2")},
    ]  # fmt: skip
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is "
        "removed.",
        "The inter-broker throttle limit was set to 500 B/s",
        "Successfully started partition reassignments for t-0,t-1",
    ]


@pytest.mark.parametrize(
    ("admin", "wanted", "given", "error", "says"),
    [
        (FakeAdmin({T0: PartitionReassignment([0, 1], [1], [])}), ("t", 0, [1]), {}, Refused,
         "Cannot execute because there is an existing partition assignment."),
        (FakeAdmin(), ("t", 0, [1, 9]), {}, CommandFailed, "Unknown broker id 9"),
        (FakeAdmin(), ("nope", 0, [1]), {}, KafkaError, "UNKNOWN_TOPIC_OR_PARTITION"),
        (FakeAdmin(), ("t", 0, [1]), {"disallow_replication_factor_change": True}, Refused,
         "t-0: The replication factor is changed from 2 to 1"),
        (FakeAdmin(errors={T0: KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no")}), ("t", 0, [1]), {}, Refused,
         "Error reassigning partition(s):\nt-0: no"),
    ],
)  # fmt: skip
def test_execute_refuses(admin, wanted, given, error, says):
    with pytest.raises(error, match=re.escape(says)):
        reassign_admin.execute(admin, plan(wanted), options(**given))


def test_moves_between_directories_wait_for_the_replica(capsys):
    admin = FakeAdmin()
    reassign_admin.execute(admin, plan(("t", 0, [2]), log_dirs=["/d"]), options(replica_alter_log_dirs_throttle=7))
    assert admin.moves == [{TopicPartitionReplica("t", 0, 2): "/d"}] * 2
    assert admin.settings == [{"2": {"replica.alter.log.dirs.io.max.bytes.per.second": "7"}}]
    assert capsys.readouterr().out.splitlines()[-1] == "Successfully started log directory move for: t-0-2"
    with pytest.raises(Refused, match="Timed out before log directory move could be started for: t-0-2"):
        reassign_admin.move_log_dirs(FakeAdmin(), {TopicPartitionReplica("t", 0, 2): "/d"}, 0)


def test_verify_keeps_the_throttles_while_something_moves(capsys):
    moving = FakeAdmin({T0: PartitionReassignment([2, 0, 1], [2], [0, 1])})
    reassign_admin.verify(moving, plan(("t", 0, [2])), options())
    assert moving.settings == []
    assert capsys.readouterr().out.splitlines() == [
        "Status of partition reassignment:", "Reassignment of partition t-0 is still in progress.", "",
    ]  # fmt: skip
    done = FakeAdmin()
    reassign_admin.verify(done, plan(("t", 0, [0, 1])), options())
    assert [sorted(step) for step in done.settings] == [["0", "1", "2"], ["t"]]
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Clearing broker-level throttles on brokers 0,1,2", "Clearing topic-level throttles on topic t",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("places", "says"),
    [
        (ReplicaLogDirs("/d", 0), "Reassignment of replica t-0-0 completed successfully."),
        (ReplicaLogDirs("/a", 0, "/d", 5), "Reassignment of replica t-0-0 is still in progress."),
        (ReplicaLogDirs("/a", 0, "/b", 5), "Partition t-0 on broker 0 is being moved to log dir /b instead of /d."),
        (ReplicaLogDirs("/a", 0), "Partition t-0 on broker 0 is not being moved from log dir /a to /d."),
        (ReplicaLogDirs(), "Partition t-0 is not found in any live log dir on broker 0. There is likely an offline log "
                           "directory on the broker."),
        (KafkaError(ErrorCode.BROKER_NOT_AVAILABLE),
         "Partition t-0 cannot be found in any live log directory on broker 0."),
    ],
)  # fmt: skip
def test_verify_tells_of_directories(places, says, capsys):
    admin = FakeAdmin(places={TopicPartitionReplica("t", 0, 0): places})
    reassign_admin.verify(admin, plan(("t", 0, [0, 1]), log_dirs=["/d", "any"]), options(preserve_throttles=True))
    assert capsys.readouterr().out.splitlines()[-1] == says


def test_cancel_calls_off_what_runs(capsys):
    replica = TopicPartitionReplica("t", 1, 0)
    admin = FakeAdmin({T0: PartitionReassignment([2, 0], [2], [0])}, places={replica: ReplicaLogDirs("/a", 0, "/d", 1)})
    both = parse_plan(json.dumps({"partitions": [
        {"topic": "t", "partition": 0, "replicas": [2]},
        {"topic": "t", "partition": 1, "replicas": [0], "log_dirs": ["/d"]},
    ]}))  # fmt: skip
    reassign_admin.cancel(admin, both, options())
    assert admin.targets == {T0: None}
    assert admin.moves[-1] == {replica: "/a"}
    assert capsys.readouterr().out.splitlines()[:2] == [
        "Successfully cancelled partition reassignment for: t-0",
        "Successfully started log directory move for: t-1-0",
    ]


def test_proposals_spread_over_the_brokers():
    from kafka_py.base.placement import BrokerRack

    placed = reassign_admin.proposed({T0: [0, 1], T1: [1, 0]}, [BrokerRack(1), BrokerRack(2)])
    assert {tuple(sorted(ids)) for ids in placed.values()} == {(1, 2)}
    with pytest.raises(CommandFailed, match="Replication factor: 2 larger than available brokers: 1"):
        reassign_admin.proposed({T0: [0, 1]}, [BrokerRack(1)])
    with pytest.raises(CommandFailed, match="Add --disable-rack-aware in command line"):
        reassign_admin.proposed({T0: [0, 1]}, [BrokerRack(1), BrokerRack(2, "r")])
