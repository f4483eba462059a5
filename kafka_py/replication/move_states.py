"""The states of a move between log directories, and the legal moves between them; the only place that lists them.

    UNALIGNED <------> COPYING -----> DONE
        |                 |
        +-----------------+---------> STOPPED, FAILED

A move without a free file descriptor keeps its state and is retried later. A resumed move is another object.
Pure. Source: docs/reference/log.md, section 18; KIP-113.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class MoveState(Enum):
    """The state of a future log."""

    UNALIGNED = "unaligned"  # it may have records that the current log lacks
    COPYING = "copying"  # its records are a prefix of the current log's
    DONE = "done"  # it has become the current log
    STOPPED = "stopped"  # left as it is
    FAILED = "failed"  # dropped until it is requested again, or its partition gets a role


UNALIGNED = MoveState.UNALIGNED
COPYING = MoveState.COPYING
DONE = MoveState.DONE
STOPPED = MoveState.STOPPED
FAILED = MoveState.FAILED

MOVES = moves_between("move between log directories", {
    UNALIGNED: [UNALIGNED, COPYING, STOPPED, FAILED],
    COPYING:   [UNALIGNED, COPYING, DONE, STOPPED, FAILED],
    DONE:      [],
    STOPPED:   [],
    FAILED:    [],
})  # fmt: skip
"""From each state, the states it may move to. To itself: it is compared with the current log again."""
