"""The states of a partition that a fetcher follows, and the legal moves between them; the only place that lists them.

              +--> TRUNCATING --+           +--> OUT_OF_RANGE --+
              |                 v           |                   |
    NEW ------+-------------> FETCHING <----+--> HELD_BACK -----+--> FETCHING
              |                 ^           |                   |
              +--> SYNCING -----+           +--> SYNCING -------+

Before a partition is fetched, its log is flushed if flush.messages asks for that: every arrow to FETCHING may lead to
SYNCING instead. From every state it may become DELAYED, and then TRUNCATING or FETCHING again; FAILED, until the
controller sends its next role; or DROPPED, which is final. A new leader epoch is a new object.
Pure. Source: docs/reference/replication.md, section 7; AbstractFetcherThread.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class FollowedState(Enum):
    """The state of a followed partition."""

    NEW = "new"  # not started
    TRUNCATING = "truncating"  # not compared with the leader's epochs yet
    FETCHING = "fetching"  # in the fetch session
    OUT_OF_RANGE = "out of range"  # the leader does not have its fetch offset
    SYNCING = "syncing"  # a fetch would acknowledge records that are not flushed yet, but flush.messages asks for that
    HELD_BACK = "held back"  # its replication quota is exceeded
    DELAYED = "delayed"  # after an error, until its `resume_ms`
    FAILED = "failed"
    DROPPED = "dropped"


NEW = FollowedState.NEW
TRUNCATING = FollowedState.TRUNCATING
FETCHING = FollowedState.FETCHING
OUT_OF_RANGE = FollowedState.OUT_OF_RANGE
SYNCING = FollowedState.SYNCING
HELD_BACK = FollowedState.HELD_BACK
DELAYED = FollowedState.DELAYED
FAILED = FollowedState.FAILED
DROPPED = FollowedState.DROPPED

MOVES = moves_between("followed partition", {
    NEW:          [TRUNCATING, FETCHING, SYNCING, DELAYED, FAILED, DROPPED],
    TRUNCATING:   [FETCHING, SYNCING, DELAYED, FAILED, DROPPED],
    FETCHING:     [OUT_OF_RANGE, SYNCING, HELD_BACK, DELAYED, FAILED, DROPPED],
    OUT_OF_RANGE: [FETCHING, SYNCING, DELAYED, FAILED, DROPPED],
    SYNCING:      [FETCHING, SYNCING, DELAYED, FAILED, DROPPED],
    HELD_BACK:    [FETCHING, SYNCING, DELAYED, FAILED, DROPPED],
    DELAYED:      [TRUNCATING, FETCHING, SYNCING, DELAYED, FAILED, DROPPED],
    FAILED:       [],
    DROPPED:      [],
})  # fmt: skip
"""From each state, the states it may move to. SYNCING to SYNCING: more records have to be flushed by then."""
