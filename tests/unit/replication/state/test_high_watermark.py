"""How far a partition is committed."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.high_watermark import committed_end
from kafka_py.replication.state.progress import NEVER, FollowerProgress
from kafka_py.replication.state.reads import FetchEntry

NOW_MS, LAG_MS = 100_000.0, 30_000
EARLY, LATE = NOW_MS - LAG_MS, NOW_MS - LAG_MS - 1
UNKNOWN = -1


def follower(broker_id: int, end: int, caught_up_ms: float) -> FollowerProgress:
    progress = FollowerProgress(broker_id)
    if end != UNKNOWN:
        progress.record_fetch(FetchEntry(TopicPartition("t", 0), end, 1), 1 << 40, 0)
    progress.last_caught_up_ms = caught_up_ms
    return progress


@pytest.mark.parametrize(
    ("followers", "in_sync", "end"),
    [
        pytest.param({}, {1}, 9, id="the leader alone"),
        pytest.param({2: (7, NEVER), 3: (6, NEVER)}, {1, 2, 3}, 6, id="W8.3: the least end in the set"),
        pytest.param({2: (7, NEVER), 3: (6, NEVER)}, {1, 2}, 7, id="W8.3: without the slowest"),
        pytest.param({2: (7, EARLY)}, {1}, 7, id="one that was caught up a moment ago may be about to join"),
        pytest.param({2: (7, LATE)}, {1}, 9, id="one that was not counts only as a member"),
        pytest.param({2: (9, NEVER)}, {1, 2}, 9, id="all have all"),
        pytest.param({2: (12, NEVER)}, {1, 2}, 9, id="one that is ahead of the leader counts as far as the leader"),
        pytest.param({2: (UNKNOWN, NEVER)}, {1, 2}, UNKNOWN, id="one that has not fetched yet holds everything"),
    ],
)
def test_the_committed_end(followers: dict[int, tuple[int, float]], in_sync: set[int], end: int) -> None:
    known = {broker_id: follower(broker_id, *values) for broker_id, values in followers.items()}
    assert committed_end(9, known, in_sync, NOW_MS, LAG_MS) == end
