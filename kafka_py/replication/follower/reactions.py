"""How a follower handles an error of its leader, or an exception of its own log.

Pure; partition_states.py does what is decided. Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from __future__ import annotations

from enum import Enum

from kafka_py.base.errors import ErrorCode
from kafka_py.log.model.answers import NoDescriptorsLeft


class FetchReaction(Enum):
    """What is done with the partition."""

    FIND_RANGE = "find range"  # the leader's log start and end offsets are requested
    DELAY = "delay"  # it is retried after the back-off; the error is expected
    DELAY_AND_LOG = "delay and log"  # the same, and the error is logged
    FAIL = "fail"  # it is not fetched again until the controller sends its next role


_TO_CODES = {
    ErrorCode.FENCED_LEADER_EPOCH: FetchReaction.FAIL,
    # Errors of a leader that has not received its role from the controller yet, or whose disk has failed.
    ErrorCode.NOT_LEADER_OR_FOLLOWER: FetchReaction.DELAY,
    ErrorCode.UNKNOWN_LEADER_EPOCH: FetchReaction.DELAY,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: FetchReaction.DELAY,
    ErrorCode.KAFKA_STORAGE_ERROR: FetchReaction.DELAY,
}


def to_fetch_error(error: ErrorCode) -> FetchReaction:
    """Handles the error of a partition in a Fetch response."""
    return FetchReaction.FIND_RANGE if error is ErrorCode.OFFSET_OUT_OF_RANGE else to_error(error)


def to_error(error: ErrorCode) -> FetchReaction:
    """Handles the error of a partition in an OffsetForLeaderEpoch or ListOffsets response."""
    return _TO_CODES.get(error, FetchReaction.DELAY_AND_LOG)


def to_exception(error: Exception) -> FetchReaction:
    """Handles an exception of the partition's own log, or an unexpected one."""
    return FetchReaction.DELAY if isinstance(error, NoDescriptorsLeft) else FetchReaction.FAIL
