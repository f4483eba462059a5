"""The in-sync replicas of a partition as one value: committed, or on the way to the next committed set.

Pure. Who is in sync is decided by the leader; the change counts only once it is written (ZooKeeper or controller),
so an in-flight change keeps both sides safe: `members` decides min.insync.replicas, `maximal` the high watermark.
Source: docs/reference/replication.md, section 4; KIP-497 (pending states).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Committed:
    """The set as the last write or LeaderAndIsr left it."""

    members: frozenset[int]

    @property
    def maximal(self) -> frozenset[int]:
        """Every replica that a new leader might have been chosen from."""
        return self.members

    @property
    def in_flight(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Expanding:
    """A replica is being added: the high watermark already waits for it, min.insync does not count it yet."""

    members: frozenset[int]
    adding: int

    @property
    def maximal(self) -> frozenset[int]:
        return self.members | {self.adding}

    @property
    def intended(self) -> frozenset[int]:
        """The set once the change is written."""
        return self.members | {self.adding}

    @property
    def in_flight(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Shrinking:
    """Replicas are being removed: until that is written the high watermark may not pass them."""

    members: frozenset[int]
    removing: frozenset[int]

    @property
    def maximal(self) -> frozenset[int]:
        return self.members

    @property
    def intended(self) -> frozenset[int]:
        """The set once the change is written."""
        return self.members - self.removing

    @property
    def in_flight(self) -> bool:
        return True


Isr = Committed | Expanding | Shrinking

NOBODY = Committed(frozenset())
"""What a follower holds: it does not know and need not know."""
