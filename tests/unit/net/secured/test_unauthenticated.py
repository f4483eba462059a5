"""The bound on connections that have not authenticated."""

from collections import Counter
from typing import Any

from kafka_py.base.chance import Chance
from kafka_py.net.secured.unauthenticated import UnauthenticatedConnections


class At:
    """A connection, as far as the bookkeeping looks at it."""

    def __init__(self, peer_host: str) -> None:
        self.peer_host = peer_host


def at(host: str) -> Any:
    return At(host)


def test_nobody_leaves_below_the_bound() -> None:
    waiting = UnauthenticatedConnections(3, Chance(1))
    several = [at("a"), at("a"), at("b")]
    assert [waiting.add(each) for each in several] == [None] * 3
    waiting.discard(several[0])
    waiting.discard(several[0])
    assert len(waiting) == 2
    assert waiting.add(at("c")) is None
    waiting.discard(several[1])
    assert waiting._by_host.keys() == {"b", "c"}  # an address without connections costs no memory


def test_one_of_the_busiest_address_leaves() -> None:
    waiting = UnauthenticatedConnections(20, Chance(1))
    flood = [at("flood") for _ in range(15)]
    others = [at(f"other-{number}") for number in range(5)]
    for each in (*flood, *others):
        assert waiting.add(each) is None
    left: Counter[str] = Counter()
    for number in range(10):
        leaves = waiting.add(at(f"new-{number}"))
        assert leaves is not None
        left[leaves.peer_host] += 1
        waiting.discard(leaves)
    assert left == {"flood": 10}
    assert len(waiting) == 20


def test_any_of_an_address_may_leave() -> None:
    """So that neither a flood nor many clients that return at once keep out all others of their address."""
    left = set()
    for seed in range(200):
        waiting = UnauthenticatedConnections(4, Chance(seed))
        several = [at("a") for _ in range(5)]
        for each in several:
            leaves = waiting.add(each)
        left.add(several.index(leaves))
    assert left == set(range(5))
