"""kafka-py rebalance: what its options mean."""

import pytest

from kafka_py.cli.common.command import UsageError
from kafka_py.cli.rebalancing.rebalance_options import Capacities, capacities_of, goals_of, request_of, size_of
from kafka_py.cli.umbrella.rebalance import main, parser
from kafka_py.operations.rebalancing.model import Goal, PlanRequest, RebalanceAction


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ([], PlanRequest()),
        (["--remove-brokers", "3,4"], PlanRequest(RebalanceAction.REMOVE_BROKERS, frozenset({3, 4}))),
        (["--demote-brokers", "0"], PlanRequest(RebalanceAction.DEMOTE_BROKERS, frozenset({0}))),
        (["--add-brokers", "5", "--tolerance", "0"],
         PlanRequest(RebalanceAction.ADD_BROKERS, frozenset({5}), tolerance_percent=0)),
        (["--fix-racks", "--topics", "a.*", "--exclude-topics", "ab"],
         PlanRequest(RebalanceAction.FIX_RACKS, topics="a.*", excluded="ab")),
        (["--replication-factor", "2", "--max-bytes", "1KB", "--goals", "bytes,replicas"],
         PlanRequest(RebalanceAction.REPLICATION_FACTOR, factor=2, max_bytes=1024, goals=(Goal.REPLICAS, Goal.BYTES))),
    ],
)  # fmt: skip
def test_options_become_a_request(words, request_):
    assert request_of(parser().parse(words)) == request_


def test_sizes_and_capacities():
    assert [size_of(text) for text in ("7", "1.5K", "2MB", "3 GiB", "1TB/s")] == [7, 1536, 2 << 20, 3 << 30, 1 << 40]
    assert capacities_of(None) == Capacities({}, None)
    assert capacities_of("2KB") == Capacities({}, 2048)
    assert capacities_of("0=1KB,3=2KB,1MB") == Capacities({0: 1024, 3: 2048}, 1 << 20)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "bootstrap-server"),
        (["--bootstrap-server", "b", "--fix-racks", "--add-brokers", "1"], "Only one of --add-brokers, --fix-racks"),
        (["--bootstrap-server", "b", "--add-brokers", "x"], "Ids of brokers are numbers"),
        (["--bootstrap-server", "b", "--goals", "racks"], "There is no soft goal racks"),
        (["--bootstrap-server", "b", "--capacity", "0=x"], "--capacity takes sizes"),
        (["--bootstrap-server", "b", "--throttle", "fast"], "throttle"),
        (["--bootstrap-server", "b", "--throttle", "0"], "at least 1 byte"),
        (["--bootstrap-server", "b", "--throttle", "0.1", "--resume", "a"], "at least 1 byte"),
        (["--bootstrap-server", "b", "--batch-partitions", "0"], "--batch-partitions is at least 1"),
        (["--bootstrap-server", "b", "--resume", "a", "--cancel", "a"], "exclude one another"),
    ],
)
def test_options_that_make_no_sense_are_refused(words, why):
    with pytest.raises(UsageError, match=why):
        main(words)


def test_goals_are_in_order_of_priority():
    assert goals_of("topics, leaders") == (Goal.LEADERS, Goal.TOPICS)
    assert goals_of("") == ()
