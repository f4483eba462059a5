"""A follower's log is cut on the way to where it parts from the leader's."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.replication.follower.leader_comparison import LeaderComparison
from kafka_py.testing.virtual_time import run_virtual, virtual_clock


@pytest.mark.parametrize("turns", [0, 1, 2])
def test_a_log_that_is_followed_no_longer_is_not_cut_further(turns: int) -> None:
    """In between, the controller may have made this broker the leader."""
    async def main() -> None:
        cuts: list[int] = []
        one: Any = SimpleNamespace(
            initial_offset=2, is_truncating=False, log=SimpleNamespace(cuts_before=lambda _offset: [30, 20, 10])
        )
        places: Any = SimpleNamespace(is_current=lambda _one: len(cuts) <= turns)
        following: Any = SimpleNamespace(truncate=lambda _one, offset: cuts.append(offset))
        nobody: Any = None
        comparison = LeaderComparison(
            "a fetcher", places, nobody, leader=nobody, following=following, by_epoch=True, clock=virtual_clock()
        )
        await comparison.cut(one, None)
        assert cuts == [30, 20, 10][: turns + 1]

    run_virtual(main())
