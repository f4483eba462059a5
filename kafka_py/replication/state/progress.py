"""A leader's state of one follower, from the follower's fetches.

Pure; times are monotonic milliseconds. Source: docs/reference/replication.md, section 3.
"""

from kafka_py.replication.state.reads import FetchEntry

UNKNOWN_OFFSET = -1
NEVER = float("-inf")
"""The time of an event that has not happened yet."""


class FollowerProgress:
    """The progress of one follower. `log_end_offset`: its last fetch offset; -1 until it fetches from this leader."""

    __slots__ = (
        "_entry",
        "_leader_end_at_previous_fetch",
        "_previous_fetch_ms",
        "broker_id",
        "last_caught_up_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.last_caught_up_ms: float = NEVER
        self._entry: FetchEntry | None = None
        self._previous_fetch_ms: float = NEVER
        self._leader_end_at_previous_fetch = 0

    def record_fetch(self, entry: FetchEntry, leader_end_offset: int, now_ms: float) -> None:
        """Notes a follower's fetch of `entry` while the leader's log ends at `leader_end_offset`.

        A follower whose fetch offset has reached the leader's log end offset at its previous fetch was caught up at the
        time of that fetch. So a follower that keeps up with a busy leader is in sync without ever reaching its end.
        """
        fetch_offset = entry.fetch_offset
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self._leader_end_at_previous_fetch:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self._previous_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = entry.log_start_offset
        self._entry = entry
        self._leader_end_at_previous_fetch = leader_end_offset
        self._previous_fetch_ms = now_ms

    def caught_up_ms(self) -> float:
        """When the follower was last caught up.

        A fetch of a session skips partitions without changes, so nothing is recorded for them. A follower that was
        caught up at its last recorded fetch is still caught up at each later use of its session.
        """
        if self._entry is None or self.last_caught_up_ms != self._previous_fetch_ms:
            return self.last_caught_up_ms
        return max(self.last_caught_up_ms, self._entry.last_asked_ms)

    def reset(self, caught_up_ms: float, leader_end_offset: int, *, forget_offsets: bool) -> None:
        """Starts a new leader epoch, whose start offset is `leader_end_offset`.

        caught_up_ms: now for a member of the new in-sync set, NEVER for the others.
        forget_offsets: whether this broker is newly elected, so that earlier offsets of the follower are invalid.
        """
        self.last_caught_up_ms = caught_up_ms
        self._entry = None
        self._previous_fetch_ms = caught_up_ms
        self._leader_end_at_previous_fetch = leader_end_offset
        if forget_offsets:
            self.log_end_offset = UNKNOWN_OFFSET
            self.log_start_offset = UNKNOWN_OFFSET
