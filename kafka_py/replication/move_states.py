"""The states of a move between log directories, and the legal changes of them; the only place that lists them.

    UNALIGNED <------> COPYING -----> DONE
        |                 |
        +-----------------+---------> STOPPED, FAILED

A move whose log finds no descriptor keeps its state and is set aside for a while. What is resumed is another move.
Pure. Source: docs/reference/log.md, section 18; KIP-113.
"""

from enum import Enum

from kafka_py.base.moves import moves_between


class MoveState(Enum):
    """How far a future log is."""

    UNALIGNED = "unaligned"  # it may hold what the present log does not
    COPYING = "copying"  # it holds the beginning of the present log
    DONE = "done"  # it is the present log now
    STOPPED = "stopped"  # left where it is
    FAILED = "failed"  # dropped until it is requested again, or its partition has another role


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
"""From each state, the states it may change to. To itself: it is compared with the present log once more."""
