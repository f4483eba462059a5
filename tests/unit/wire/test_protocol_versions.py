"""Inter-broker protocol versions: names, order, and the table of request versions."""

import itertools

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.controller.configs import ControllerOptions
from kafka_py.wire.protocol_versions import NAMES, InterBrokerVersion


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2.6", "2.6-IV0"), ("2.6.0", "2.6-IV0"), ("2.6-IV0", "2.6-IV0"), ("2.8", "2.8-IV1"), ("2.7.1", "2.7-IV2"),
        ("0.10.0", "0.10.0-IV1"), ("0.10.1.1", "0.10.1-IV2"), ("0.8.2", "0.8.2"), ("1.0", "1.0-IV0"),
    ],
)  # fmt: skip
def test_short_names_mean_the_last_version_of_a_release(text, name):
    assert InterBrokerVersion(text).name == name


@pytest.mark.parametrize("text", ["", "3.0", "2", "2.6-IV9", "0.10", "x.y", "2.6-IV"])
def test_unknown_names_are_refused(text):
    with pytest.raises(ConfigError):
        InterBrokerVersion(text)
    with pytest.raises(ConfigError):
        ControllerOptions.parse({"inter.broker.protocol.version": text})


TABLE = """
0.8.0      0 0 0
0.8.2      0 0 0
0.9.0      0 1 0
0.10.0-IV1 0 2 0
0.10.2-IV0 0 3 0
0.11.0-IV2 0 3 0
1.0-IV0    1 4 0
2.1-IV2    1 4 0
2.2-IV0    2 5 1
2.4-IV0    3 5 1
2.4-IV1    4 6 2
2.6-IV0    4 6 3
2.7-IV2    4 6 3
2.8-IV0    4 6 3
2.8-IV1    5 7 3
"""


@pytest.mark.parametrize("row", TABLE.split("\n")[1:-1])
def test_the_version_decides_what_is_sent(row):
    name, *versions = row.split()
    assert InterBrokerVersion(name).requests == tuple(map(int, versions))


def test_gates():
    names = ("0.8.2", "0.9.0", "2.2-IV0", "2.8")
    assert [InterBrokerVersion(name).controlled_shutdown for name in names] == [0, 1, 2, 3]
    assert not InterBrokerVersion("2.7").has_topic_ids
    assert InterBrokerVersion("2.8-IV0").has_topic_ids
    assert not InterBrokerVersion("2.6").has_features
    assert InterBrokerVersion("2.7-IV0").has_features
    assert all(InterBrokerVersion(newer).at_least(older) for older, newer in itertools.pairwise(NAMES))


def test_the_version_of_write_txn_markers():
    names = ("0.11.0-IV0", "2.7-IV2", "2.8-IV0", "2.8-IV1")
    assert [InterBrokerVersion(name).write_txn_markers for name in names] == [0, 0, 1, 1]
