"""The state of an execution: its file, batches, documents and texts."""

import json

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.operations.rebalancing.batches import BatchLimits, next_batch
from kafka_py.operations.rebalancing.documents import proposal_document
from kafka_py.operations.rebalancing.model import (
    PartitionChange,
    PlanBroker,
    PlanCluster,
    PlanPartition,
    PlanRequest,
    RebalanceRefused,
)
from kafka_py.operations.rebalancing.plan_file import (
    StepState,
    new_state,
    parse_state,
    read_state,
    sole_execution,
    state_text,
    write_state,
)
from kafka_py.operations.rebalancing.planner import propose
from kafka_py.operations.rebalancing.progress import RunProgress, copied_of, seconds_left
from kafka_py.operations.rebalancing.summary import duration_text, progress_line, proposal_lines, size_text


def proposal():
    rows = tuple(PlanPartition(TopicPartition("t\u00e9", n), (0, 1), 0, 1 << 20) for n in range(60))
    return propose(PlanCluster(tuple(PlanBroker(n, f"rack{n}") for n in range(3)), rows), PlanRequest())


def test_a_state_is_written_and_read(tmp_path):
    state = new_state(proposal(), "c", 1000, BatchLimits(5, 7))
    first = next(iter(state.steps.values()))
    first.state, first.reason = StepState.FAILED, "no"
    state.topics, state.brokers = {"t": {"a": None, "b": "1"}}, {"0": {"c": "2"}}
    path = tmp_path / "state"
    write_state(path, state)
    assert read_state(path) == state
    assert list(tmp_path.iterdir()) == [path]
    assert state.settled_bytes + sum(change.moved_bytes for change in state.pending) == state.total_bytes


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"version":2}', '{"version":1,"partitions":[{}]}', '{"version":1,"partitions":7}'],
)
def test_another_file_is_refused(text):
    with pytest.raises(RebalanceRefused):
        parse_state(text)


def test_any_changed_field_is_refused_or_read():
    document = json.loads(state_text(new_state(proposal(), "c", None, BatchLimits())))
    for name in document:
        for value in (None, 7, "x", [], {}, [1], [["t"]], {"t": 1}):
            try:
                parse_state(json.dumps({**document, name: value}))
            except RebalanceRefused:
                continue


def changes(*rows):
    return [PartitionChange(TopicPartition("t", n), before, after, 10) for n, (before, after) in enumerate(rows)]


def test_a_batch_is_bounded_and_brokers_take_turns():
    pending = changes(*[((0,), (1,))] * 4, *[((0,), (2,))] * 4)
    batch = next_batch(pending, BatchLimits(4, 1000))
    assert [change.after[0] for change in batch] == [1, 2, 1, 2]
    assert len(next_batch(pending, BatchLimits(100, 35))) == 3
    assert len(next_batch(pending, BatchLimits(100, 1))) == 1


def test_what_copies_nothing_comes_first():
    pending = changes(((0, 1), (1, 2)), ((0, 1), (1, 0)), ((0, 1, 2), (0, 1)))
    assert [change.partition.partition for change in next_batch(pending, BatchLimits(1, 1))] == [1, 2]


def test_the_document_has_the_plan_and_the_way_back():
    plan = proposal()
    document = proposal_document(plan)
    rows = document["reassignment"]["partitions"]
    assert rows[0]["log_dirs"] == ["any", "any"]
    assert len(rows) == len(document["rollback"]["partitions"]) == len(plan.changes)
    assert all(row["replicas"] == [0, 1] for row in document["rollback"]["partitions"])
    assert sum(move["moved_bytes"] for move in document["moves"]) == document["moved_bytes"] == plan.moved_bytes
    assert json.loads(json.dumps(document)) == document
    assert {one["goal"] for one in document["violations_before"]} >= {"replicas", "leaders"}


def test_the_dry_run_shows_brokers_violations_and_moves():
    lines = list(proposal_lines(proposal()))
    assert lines[0].split() == ["BROKER", "RACK", "REPLICAS", "PREFERRED", "BYTES", "VIOLATIONS"]
    assert lines[1].split()[:5] == ["0", "rack0", "60", "->", "40"]
    assert any(line.startswith("violations now: replicas 3, leaders 3, bytes 3") for line in lines)
    assert lines[-1].endswith("--output json lists all")


def test_progress_is_shown_with_an_estimate():
    text = progress_line(RunProgress(2, 8, 512 << 20, 2 << 30, 3, 2, 90.0, "waiting"))
    assert text == "25 %, 2 of 8 partitions, 512.0 MB of 2.0 GB, batch 3: 2 moving, 90 s left, waiting"
    assert progress_line(RunProgress(8, 8, 0, 0, 1, 0)) == "8 of 8 partitions"
    assert (size_text(999), size_text(1 << 62)) == ("999 B", "4096.0 PB")
    assert [duration_text(each) for each in (None, 5, 600, 36_000)] == ["?", "5 s", "10 min", "10.0 h"]


def test_what_is_copied_counts_at_its_destination_only():
    sizes = {TopicPartition("t", 0): {0: 10, 1: 4}, TopicPartition("t", 1): {2: 99}}
    assert copied_of(changes(((0,), (1,)), ((0,), (2,))), sizes) == 14
    assert seconds_left(10.0, 5, 20) == 40.0
    assert seconds_left(10.0, 0, 20) is None


def test_one_process_at_a_time_carries_out_a_plan(tmp_path):
    path = tmp_path / "state.json"
    with sole_execution(path):
        with pytest.raises(RebalanceRefused, match="Another process carries out"), sole_execution(path):
            pass
        with sole_execution(tmp_path / "other.json"):
            pass
    with sole_execution(path):
        pass
    assert list(tmp_path.iterdir()) == []
