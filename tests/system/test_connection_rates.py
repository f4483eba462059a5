"""A storm of connections from one address: the rate holds, and another address is served on another listener.

The long form, with figures, is benchmarks/limits/connection_storm.py.
"""

from collections.abc import Iterator

import pytest

from benchmarks.limits.connection_storm import Newcomers, limit_address, running, storm
from kafka_py.testing.broker import AnyBroker, BrokerProcess

RATE = 50
CONNECTIONS = 200
WINDOW_S = 1
"""Two samples of a second: the present one, and one that is complete."""
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def limited(zookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AnyBroker, int]]:
    """A broker, and the port of its listener that has the rate."""
    folder = tmp_path_factory.mktemp("storm")
    settings = {"quota.window.num": "2"}
    with running(BrokerProcess, f"{zookeeper.connect}/storm", folder, RATE, settings) as found:
        yield found


def test_a_listener_lets_no_more_in_than_its_rate_and_all_in_the_end(limited: tuple[AnyBroker, int]) -> None:
    broker, port = limited
    newcomers = Newcomers(broker.port)
    newcomers.start()
    found = storm(port, CONNECTIONS, PATIENCE_S)
    newcomers.stop()
    assert newcomers.waits_ms
    assert (len(found.let_in_s), found.closed, found.undecided) == (CONNECTIONS, 0, 0)
    assert found.share(RATE, WINDOW_S) <= 1.0


def test_an_address_over_its_rate_has_its_connections_closed(limited: tuple[AnyBroker, int]) -> None:
    broker, _ = limited
    limit_address(broker, RATE)
    newcomers = Newcomers(broker.port)
    newcomers.start()
    found = storm(broker.port, CONNECTIONS, PATIENCE_S)
    newcomers.stop()
    assert newcomers.waits_ms
    assert found.undecided == 0
    assert len(found.let_in_s) + found.closed == CONNECTIONS
    assert found.closed > 0
    assert found.share(RATE, WINDOW_S) <= 1.0
