"""The state file of moves between log directories, and what becomes of each replica."""

import json

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.log_dirs import LogDirDescription, ReplicaInfo
from kafka_py.clients.metadata import Node
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.directories.documents import directories_document, directories_lines
from kafka_py.operations.directories.look_input import ReplicaPlace, places_of, plan_directories_of
from kafka_py.operations.directories.model import DirectoriesRequest, DirectoryId, DirectoryMove, PlanReplica, ReplicaId
from kafka_py.operations.directories.plan_file import (
    DirectoriesState,
    directories_text,
    is_of_directories,
    new_directories_state,
    parse_directories,
    read_directories,
    write_directories,
)
from kafka_py.operations.directories.planner import propose
from kafka_py.operations.directories.settling import MoveVerdict, next_moves, verdict_of
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.plan_file import PlanStep, StepState, parse_state

T0, T1 = TopicPartition("größer", 0), TopicPartition("t", 1)
MOVE = DirectoryMove(ReplicaId(T0, 1), "/a", "/b", 100)
FINE, OFFLINE = LogDirDescription(None, {}), LogDirDescription(KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), {})
BOTH = {"/a": FINE, "/b": FINE, "/c": FINE}


def state():
    failed = PlanStep(DirectoryMove(ReplicaId(T1, 2), "/c", "/d", 5), StepState.FAILED, "no")
    steps = {MOVE.replica: PlanStep(MOVE), failed.change.replica: failed}
    return DirectoriesState("c", steps, 7, BatchLimits(3, 10), brokers={"1": {"rate": None}})


def test_a_state_is_written_and_read(tmp_path):
    write_directories(tmp_path / "s", state())
    assert read_directories(tmp_path / "s") == state()
    assert [each.name for each in tmp_path.iterdir()] == ["s"]
    assert (state().total_bytes, state().settled_bytes) == (105, 5)
    assert is_of_directories(directories_text(state()))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version":1}', '{"version":2,"replicas":[]}', "nothing"])
def test_another_file_is_refused(text):
    assert not is_of_directories(text)
    with pytest.raises(RebalanceRefused):
        parse_directories(text)


def test_a_state_of_one_kind_is_not_taken_for_the_other():
    with pytest.raises(RebalanceRefused):
        parse_state(directories_text(state()))


def test_any_field_that_is_missing_is_refused():
    document = json.loads(directories_text(state()))
    for name in document.keys() - {"kind"}:
        with pytest.raises(RebalanceRefused):
            parse_directories(json.dumps({key: value for key, value in document.items() if key != name}))
    row = document["replicas"][0]
    for name in row:
        changed = {**document, "replicas": [{key: value for key, value in row.items() if key != name}]}
        with pytest.raises(RebalanceRefused):
            parse_directories(json.dumps(changed))


@pytest.mark.parametrize(
    ("place", "directories", "verdict"),
    [
        (ReplicaPlace("/a"), BOTH, MoveVerdict(StepState.PENDING)),
        (ReplicaPlace("/a"), None, MoveVerdict(StepState.PENDING)),
        (ReplicaPlace("/a", "/b", 5), BOTH, MoveVerdict(StepState.PENDING, is_moving=True)),
        (ReplicaPlace("/b"), BOTH, MoveVerdict(StepState.DONE)),
        (ReplicaPlace("/b"), {**BOTH, "/a": OFFLINE}, MoveVerdict(StepState.DONE)),
        (ReplicaPlace(), BOTH, MoveVerdict(StepState.GONE)),
        (ReplicaPlace("/b", "/c"), BOTH, MoveVerdict(StepState.FAILED, reason="another move takes it to /c")),
        (ReplicaPlace("/a", "/c"), BOTH, MoveVerdict(StepState.FAILED, reason="another move takes it to /c")),
        (ReplicaPlace("/c"), BOTH,
         MoveVerdict(StepState.FAILED, reason="it is in /c now, and was in /a when the plan was made")),
        (ReplicaPlace("/a"), {**BOTH, "/b": OFFLINE},
         MoveVerdict(StepState.FAILED, reason="the log directory /b is offline")),
        (ReplicaPlace(), {**BOTH, "/a": OFFLINE},
         MoveVerdict(StepState.FAILED, reason="the log directory /a is offline")),
        (ReplicaPlace("/a"), {"/a": FINE}, MoveVerdict(StepState.FAILED, reason="the log directory /b is not there")),
    ],
)  # fmt: skip
def test_what_has_become_of_a_replica(place, directories, verdict):
    assert verdict_of(MOVE, place, directories) == verdict


def test_batches_are_bounded_and_directories_take_turns():
    moves = [DirectoryMove(ReplicaId(TopicPartition("t", number), number % 2), "/a", "/b", 10) for number in range(6)]
    assert [move.replica.partition.partition for move in next_moves(moves, BatchLimits(3, 1000))] == [0, 1, 2]
    assert [move.replica.partition.partition for move in next_moves(moves[::2], BatchLimits(9, 20))] == [0, 2]
    assert len(next_moves(moves, BatchLimits(9, 1))) == 1


def seen():
    replicas = {T0: ReplicaInfo(60, 0, False), T1: ReplicaInfo(40, 0, False)}
    return ClusterSnapshot(
        0, nodes={1: Node(1, "h", 1)},
        log_dirs={1: {"/a": LogDirDescription(None, replicas, 1000, 500),
                      "/b": LogDirDescription(None, {T1: ReplicaInfo(7, 3, True)}, 1000, 500),
                      "/c": LogDirDescription(None, {}, 2000, 500), "/d": OFFLINE}},
    )  # fmt: skip


def test_directories_replicas_and_disks_of_a_look():
    found = plan_directories_of(seen())
    assert [(each.id, each.is_online, each.disk) for each in found.directories] == [
        (DirectoryId(1, "/a"), True, "/a"), (DirectoryId(1, "/b"), True, "/a"), (DirectoryId(1, "/c"), True, "/c"),
        (DirectoryId(1, "/d"), False, "/d"),
    ]  # fmt: skip
    assert found.replicas == (
        PlanReplica(ReplicaId(T0, 1), "/a", 60), PlanReplica(ReplicaId(T1, 1), "/a", 40, is_moving=True)
    )  # fmt: skip
    assert places_of(seen().log_dirs) == {
        ReplicaId(T0, 1): ReplicaPlace("/a"), ReplicaId(T1, 1): ReplicaPlace("/a", "/b", 7)
    }  # fmt: skip
    with pytest.raises(RebalanceRefused, match="no broker has answered"):
        plan_directories_of(ClusterSnapshot(0))


def test_the_plan_is_shown_and_kept():
    proposal = propose(plan_directories_of(seen()), DirectoriesRequest())
    [move] = proposal.moves
    assert (move.source, move.target, move.size_bytes) == ("/a", "/c", 60)
    lines = list(directories_lines(proposal))
    assert "1 replicas and 60 B are moved" in lines
    assert "  größer-0 on broker 1: /a -> /c  60 B" in lines
    assert any("/d (offline)" in line for line in lines)
    document = directories_document(proposal)
    assert document["moves"] == [
        {"topic": "größer", "partition": 0, "broker": 1, "before": "/a", "after": "/c", "size_bytes": 60}
    ]
    assert [one["after"]["size_bytes"] for one in document["directories"]] == [40, 0, 60, 0]
    assert new_directories_state(proposal, "c", None, BatchLimits()).pending == [move]
