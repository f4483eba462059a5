"""How a follower handles an error of its leader, or an exception of its own log.

Pure; partition_states.py does what is decided. Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from __future__ import annotations

from enum import Enum

from kafka_py.base.errors import ErrorCode
from kafka_py.log.model.answers import NoDescriptorsLeft


class Reaction(Enum):
    """What is done with the partition."""

    FIND_RANGE = "find range"  # the leader's log start and end offsets are requested
    DELAY = "delay"  # it is retried after the back-off; the error is expected
    DELAY_AND_LOG = "delay and log"  # the same, and the error is logged
    FAIL = "fail"  # it is not fetched again until the controller sends its next role


_TO_CODES = {
    ErrorCode.FENCED_LEADER_EPOCH: Reaction.FAIL,
    # Errors of a leader that has not received its role from the controller yet, or whose disk has failed.
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Reaction.DELAY,
    ErrorCode.UNKNOWN_LEADER_EPOCH: Reaction.DELAY,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Reaction.DELAY,
    ErrorCode.KAFKA_STORAGE_ERROR: Reaction.DELAY,
}


def to_fetch_error(error: ErrorCode) -> Reaction:
    """Handles the error of a partition in a Fetch response."""
    return Reaction.FIND_RANGE if error is ErrorCode.OFFSET_OUT_OF_RANGE else to_error(error)


def to_error(error: ErrorCode) -> Reaction:
    """Handles the error of a partition in an OffsetForLeaderEpoch or ListOffsets response."""
    return _TO_CODES.get(error, Reaction.DELAY_AND_LOG)


def to_exception(error: Exception) -> Reaction:
    """Handles an exception of the partition's own log, or an unexpected one."""
    return Reaction.DELAY if isinstance(error, NoDescriptorsLeft) else Reaction.FAIL
