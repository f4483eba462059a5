"""What a follower does when its leader answers with an error, or its own log raises one.

Pure: what is done then is in partition_states.py. Source: docs/reference/replication.md, section 7;
AbstractFetcherThread.
"""

from __future__ import annotations

from enum import Enum

from kafka_py.base.errors import ErrorCode
from kafka_py.log.model.answers import NoDescriptorsLeft


class Reaction(Enum):
    """What becomes of the partition."""

    FIND_RANGE = "find range"  # the leader is asked where its log begins and ends
    WAIT = "wait"  # it is tried again after a while; nothing is wrong
    COMPLAIN = "complain"  # the same, and the error is logged as one
    GIVE_UP = "give up"  # it is not fetched again until the controller sends its next role


_TO_CODES = {
    ErrorCode.FENCED_LEADER_EPOCH: Reaction.GIVE_UP,
    # What a leader says that the controller has not reached yet, or whose disk failed.
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Reaction.WAIT,
    ErrorCode.UNKNOWN_LEADER_EPOCH: Reaction.WAIT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Reaction.WAIT,
    ErrorCode.KAFKA_STORAGE_ERROR: Reaction.WAIT,
}


def to_fetch_error(error: ErrorCode) -> Reaction:
    """The answer to a fetch."""
    return Reaction.FIND_RANGE if error is ErrorCode.OFFSET_OUT_OF_RANGE else to_error(error)


def to_error(error: ErrorCode) -> Reaction:
    """The answer to a question about epochs or offsets."""
    return _TO_CODES.get(error, Reaction.COMPLAIN)


def to_exception(error: Exception) -> Reaction:
    """What the partition's own log raised, or code that nobody foresaw to fail."""
    return Reaction.WAIT if isinstance(error, NoDescriptorsLeft) else Reaction.GIVE_UP
