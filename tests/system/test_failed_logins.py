"""Failed logins in large numbers: each waits for the delay, memory does not grow with them, other clients are served.

The long form, with figures, is benchmarks/security/failed_logins.py.
"""

from collections.abc import Iterator

import pytest

from benchmarks.security.failed_logins import DELAY_MS, OtherClient, flood, running
from benchmarks.servers import Server

WARM, LOGINS, AT_ONCE = 500, 3000, 100
MOST_GROWTH_MB = 5.0


@pytest.fixture(scope="module")
def broker(zookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, int]]:
    with running(f"{zookeeper.connect}/logins", tmp_path_factory.mktemp("logins")) as found:
        yield found


def test_failed_logins_are_delayed_and_leave_nothing_behind(broker: tuple[Server, int]) -> None:
    server, port = broker
    flood(port, WARM, AT_ONCE)
    before_mb = server.resident_mb()
    other = OtherClient(port)
    other.start()
    found = flood(port, LOGINS, AT_ONCE)
    other.stop()
    assert (found.refused, found.other) == (LOGINS, 0)
    assert found.shortest_ms >= DELAY_MS * 0.95
    assert server.resident_mb() - before_mb < MOST_GROWTH_MB
    assert other.waits_ms
