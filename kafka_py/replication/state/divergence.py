"""Whether a reader's log diverges from the leader's below the offset that it fetches from (KIP-595).

Pure: knows epochs and offsets. The reader then truncates, as follower/truncation.py decides.
Source: docs/reference/replication.md, section 8; KIP-595.
"""

from __future__ import annotations

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.state.epochs import EpochEnd
from kafka_py.replication.state.reads import FetchEntry


def diverging_end(entry: FetchEntry, leader_end: tuple[int, int], log_start_offset: int) -> EpochEnd | None:
    """The offset (exclusive) to which the reader has to truncate, as its last epoch ends earlier here; else None.

    leader_end: the largest epoch of this log that is not above the reader's last one, and its end offset here.
    Raises KafkaError(OFFSET_OUT_OF_RANGE) when this log cannot tell.
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
