"""Whether a reader's log parts from the leader's before the offset that it fetches from (KIP-595).

Pure: knows epochs and offsets. What the reader then does is in follower/truncation.py.
Source: docs/reference/replication.md, section 8; KIP-595.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.replication.state.reads import EpochEnd, FetchEntry


def diverging_end(entry: FetchEntry, leader_end: tuple[int, int], log_start_offset: int) -> EpochEnd | None:
    """Where the reader's log has to end at the most, as its last epoch ends earlier here; None when it need not be cut.

    leader_end: the largest epoch of this log that is not above the reader's last one, and where it ends here.
    Raises KafkaError(OFFSET_OUT_OF_RANGE) when that cannot be told from this log.
    """
    epoch, end_offset = leader_end
    if epoch < 0 or end_offset < 0 or entry.fetch_offset < log_start_offset:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{entry.topic_partition}: offset {entry.fetch_offset} in epoch {entry.last_fetched_epoch}",
        )
    if epoch < entry.last_fetched_epoch or end_offset < entry.fetch_offset:
        return EpochEnd(epoch, end_offset)
    return None
