"""The order of a roll, when a broker may be stopped, and what is kept of an interrupted roll."""

from pathlib import Path

import pytest

from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.local_cluster import rolling
from kafka_py.cli.local_cluster.broker_view import BrokerView
from kafka_py.cli.local_cluster.layout import LocalCluster
from kafka_py.cli.local_cluster.rolling import RollPlan, check_chosen, new_plan, read_plan, what_is_missing, write_plan
from kafka_py.cli.umbrella.roll import numbers

CLUSTER = LocalCluster((1, 2, 3), 4)
WELL = BrokerView((0, 1, 2), 1, 9, ())


@pytest.mark.parametrize(
    ("controller", "chosen", "order"),
    [
        (1, [], ["broker-0", "broker-2", "broker-1"]),
        (-1, [], ["broker-0", "broker-1", "broker-2"]),
        (0, [0, 2], ["broker-2", "broker-0"]),
    ],
)
def test_the_controller_is_last(controller: int, chosen: list[int], order: list[str]) -> None:
    assert new_plan(CLUSTER, controller, chosen).order == order


def test_what_is_left_survives_in_the_folder(tmp_path: Path) -> None:
    assert read_plan(tmp_path) is None
    plan = RollPlan(["broker-0", "broker-2", "broker-1"], ["broker-0"])
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan
    assert plan.left == ["broker-2", "broker-1"]
    write_plan(tmp_path, None)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / rolling.FILE).write_text("{}")
    with pytest.raises(CommandFailed, match=r"roll\.json cannot be read .* remove it"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("views", "missing"),
    [
        ([WELL, WELL, WELL], ""),
        ([WELL, None, WELL], "broker-1 does not answer"),
        ([WELL, WELL, WELL._replace(brokers=(0, 1))], "not every broker knows all the others yet"),
        ([WELL, WELL._replace(controller=-1), WELL], "not every broker knows all the others yet"),
        ([WELL, WELL._replace(lagging=("b-1", "a-0")), WELL._replace(lagging=("a-0",))], "not in sync: a-0, b-1"),
        ([WELL._replace(lagging=tuple("abcdefg"))], "not in sync: a, b, c, d, e ..."),
    ],
)
def test_a_broker_is_stopped_only_if_every_one_sees_all_in_order(
    views: list[BrokerView | None], missing: str
) -> None:
    assert what_is_missing(views, 3) == missing


def test_only_brokers_of_the_cluster_are_chosen() -> None:
    assert numbers(" 2, 0") == [0, 2]
    check_chosen(CLUSTER, [0, 2])
    with pytest.raises(CommandFailed, match="no broker 3: there are 0 to 2"):
        check_chosen(CLUSTER, [3])
    with pytest.raises(CommandFailed, match="takes ids such as 0,2"):
        numbers("0,x")
