"""Settings of the connection, and the connect string."""

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.zk.configs import ConnectString, ZkOptions


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("localhost1:2181,localhost2:2182", (("localhost1", 2181), ("localhost2", 2182)), ""),
        ("h1:1, h2:2/kafka/a", (("h1", 1), ("h2", 2)), "/kafka/a"),
        ("host", (("host", 2181),), ""),
        ("host/kafka/", (("host", 2181),), "/kafka"),
        ("host:5/", (("host", 5),), ""),
        ("[::1]:5,[fe80::1]/x", (("::1", 5), ("fe80::1", 2181)), "/x"),
    ],
)
def test_a_connect_string_is_servers_and_a_chroot(text, servers, chroot):
    """The chroot is optional: several clusters may share one ZooKeeper; without it the root is used."""
    assert ConnectString.parse(text) == (servers, chroot)


def test_it_prints_as_it_is_understood():
    assert str(ConnectString.parse("a, [::1]:5/x/")) == "a:2181,[::1]:5/x"


@pytest.mark.parametrize("text", ["", "/kafka", ",", "h:0", "h:99999", "h:port", "h:1:2:", "h:1//x", "[::1"])
def test_what_is_no_connect_string_is_refused_by_the_settings_name(text):
    with pytest.raises(ConfigError, match=r"zookeeper\.connect"):
        ConnectString.parse(text)


def test_defaults_are_those_of_2_8():
    options = ZkOptions.parse({"zookeeper.connect": "h:1"})
    assert options.zookeeper_session_timeout_ms == options.connection_timeout_ms() == 18000
    assert options.zookeeper_max_in_flight_requests == 10
    assert options.connect_string() == ((("h", 1),), "")
    assert ZkOptions.parse({"zookeeper.connection.timeout.ms": "5"}).connection_timeout_ms() == 5


def test_zookeeper_connect_is_required():
    with pytest.raises(ConfigError, match=r"Missing required configuration zookeeper\.connect"):
        ZkOptions.parse({}).connect_string()


