"""What is asked for by --log-dirs and --drain-log-dirs, and what they cannot be combined with."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed, UsageError
from kafka_py.cli.rebalancing.log_dir_runs import directories_request
from kafka_py.cli.umbrella import rebalance
from kafka_py.operations.directories.model import DirectoriesRequest, DirectoryId, DirectoryMove, ReplicaId
from kafka_py.operations.directories.plan_file import DirectoriesState, write_directories
from kafka_py.operations.rebalancing.plan_file import PlanStep


@pytest.mark.parametrize(
    ("log_dirs", "drained", "request_"),
    [
        ("all", None, DirectoriesRequest(tolerance_percent=7)),
        ("0,3", None, DirectoriesRequest(frozenset({0, 3}), tolerance_percent=7)),
        (None, "0=/a,12=/b=c", DirectoriesRequest(
            drained=frozenset({DirectoryId(0, "/a"), DirectoryId(12, "/b=c")}), tolerance_percent=7)),
    ],
)  # fmt: skip
def test_values_become_a_request(log_dirs, drained, request_):
    assert directories_request(log_dirs, drained, 7) == request_


@pytest.mark.parametrize(
    ("log_dirs", "drained", "why"),
    [
        ("each", None, "numbers such as 3,4"), (None, "/a", "not '/a'"), (None, "0=", "not '0='"),
        (None, "x=/a", "not 'x=/a'"),
    ],
)  # fmt: skip
def test_values_that_make_no_sense_are_refused(log_dirs, drained, why):
    with pytest.raises(UsageError, match=why):
        directories_request(log_dirs, drained, 10)


@pytest.mark.parametrize(
    "words",
    [
        ("--log-dirs", "all", "--drain-log-dirs", "0=/a"), ("--log-dirs", "all", "--add-brokers", "3"),
        ("--drain-log-dirs", "0=/a", "--fix-racks"), ("--log-dirs", "all", "--topics", "t"),
        ("--log-dirs", "all", "--capacity", "1TB"), ("--log-dirs", "0", "--rollback-json-file", "f"),
    ],
)  # fmt: skip
def test_moves_between_directories_are_a_plan_of_their_own(words):
    with pytest.raises(UsageError, match="Only one of"):
        rebalance.main(["--bootstrap-server", "127.0.0.1:1", *words])


def test_the_state_of_an_execution_whose_throttles_are_set_is_not_overwritten(tmp_path):
    move = DirectoryMove(ReplicaId(TopicPartition("t", 0), 1), "/a", "/b", 5)
    state = DirectoriesState("c", {move.replica: PlanStep(move)}, 7, brokers={"1": {"rate": None}})
    path = tmp_path / "s"
    write_directories(path, state)
    before = path.read_bytes()
    whys = {("--log-dirs", "all"): "whose throttles are set", ("--remove-brokers", "1"): "of another kind of rebalance"}
    for words, why in whys.items():
        with pytest.raises(CommandFailed, match=why):
            rebalance.main(["--bootstrap-server", "127.0.0.1:1", *words, "--execute", "--state", str(path)])
        assert path.read_bytes() == before
