"""From partition.assignment.strategy to assignors."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.clients.consumer.assignors.assignor import Assignor, CountingAssignor, RebalanceProtocol
from kafka_py.clients.consumer.assignors.chosen import BUILT_IN, assignors_of, protocol_of

JAVA = "org.apache.kafka.clients.consumer."


class Mine(CountingAssignor):
    name = "mine"
    protocols = (RebalanceProtocol.COOPERATIVE,)
    configs: object = None

    def configure(self, configs: object) -> None:
        self.configs = configs


def test_the_built_in_ones_go_by_their_java_names() -> None:
    names = [each.name for each in assignors_of(BUILT_IN, {})]
    assert names == ["range", "roundrobin", "sticky", "cooperative-sticky"]


@pytest.mark.parametrize("wanted", [Mine, Mine()])
def test_users_bring_their_own_as_a_class_or_an_object(wanted: object) -> None:
    settings = {"my.weight": "3"}
    [made] = assignors_of([wanted], settings)
    assert isinstance(made, Mine)
    assert made.configs == settings


def test_users_bring_their_own_by_the_path_of_the_class() -> None:
    assert [each.name for each in assignors_of(["kafka_py.clients.consumer.assignors.range.RangeAssignor"], {})] == [
        "range"
    ]


@pytest.mark.parametrize("wanted", ["no.such.Assignor", "nothing", object(), Assignor, JAVA + "Nothing"])
def test_what_is_no_assignor_is_refused(wanted: object) -> None:
    with pytest.raises(ConfigError, match=r"partition\.assignment\.strategy"):
        assignors_of([wanted], {})


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="'range' is used in more than one assignor"):
        assignors_of([JAVA + "RangeAssignor", JAVA + "RangeAssignor"], {})


def test_the_protocol_is_the_highest_that_all_know() -> None:
    def protocol(*names: str) -> RebalanceProtocol:
        return protocol_of(assignors_of([JAVA + name for name in names], {}))

    assert protocol("CooperativeStickyAssignor") is RebalanceProtocol.COOPERATIVE
    assert protocol("CooperativeStickyAssignor", "RangeAssignor") is RebalanceProtocol.EAGER
    with pytest.raises(ConfigError, match="no rebalance protocol in common"):
        protocol_of([*assignors_of([JAVA + "RangeAssignor"], {}), Mine()])
