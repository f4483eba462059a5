"""What `kafka-py rebalance` does with the file of an execution, without a cluster."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.rebalancing import rebalance_runs
from kafka_py.cli.rebalancing.rebalance_runs import PlannedCluster
from kafka_py.cli.umbrella.rebalance import main
from kafka_py.operations.rebalancing.batches import BatchLimits
from kafka_py.operations.rebalancing.model import PartitionChange, PlanRequest, Proposal
from kafka_py.operations.rebalancing.plan_file import new_state, read_state, write_state

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def proposal(partition):
    change = PartitionChange(partition, (0,), (1,), 5)
    return Proposal(PlanRequest(), (change,), (), (), (), (), ())


def test_no_plan_is_carried_out_while_partitions_are_being_reassigned(tmp_path, monkeypatch):
    """They may be those of an interrupted execution, whose file is the only way to cancel them."""
    path = tmp_path / "state.json"
    write_state(path, new_state(proposal(T0), "c", None, BatchLimits()))

    async def plan(*_):
        return PlannedCluster(proposal(T1), "c", (), (T0,))

    monkeypatch.setattr(rebalance_runs, "plan", plan)
    words = ["--bootstrap-server", "b", "--state", str(path)]
    assert main(words) == 0
    with pytest.raises(CommandFailed, match="1 partitions are being reassigned, such as t-0"):
        main([*words, "--execute"])
    assert list(read_state(path).steps) == [T0]
