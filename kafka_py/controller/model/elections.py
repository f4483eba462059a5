"""Who leads a partition: (assignment, isr, who is alive) -> leader, new in-sync set, whom to tell.

Pure: knows broker ids only, nothing of states, ZooKeeper or requests. Source: docs/reference/controller.md, section 4.
"""

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import NamedTuple


class Strategy(Enum):
    """Why an election is held; decides who may win it."""

    OFFLINE = "offline"  # a new or leaderless partition; outside the in-sync set only where the topic permits it
    UNCLEAN = "unclean"  # the same, and an administrator permits it for this once
    REASSIGN = "reassign"  # the leader is not among the target replicas
    PREFERRED = "preferred"  # back to the first replica of the assignment
    CONTROLLED_SHUTDOWN = "controlled shutdown"  # away from the brokers that are going down


class Elected(NamedTuple):
    """The outcome of an election that found a leader.

    recipients: the brokers that get LeaderAndIsr. unclean: the leader was not in sync, records may be lost.
    """

    leader: int
    isr: tuple[int, ...]
    recipients: tuple[int, ...]
    unclean: bool = False


def first_leader(replicas: Sequence[int], alive: Collection[int]) -> Elected | None:
    """Leader and in-sync set of a partition that never had any: all living replicas, the first of them leads."""
    living = tuple(replica for replica in replicas if replica in alive)
    return Elected(living[0], living, living) if living else None


def offline(
    replicas: Sequence[int], isr: Sequence[int], alive: Collection[int], unclean_permitted: bool
) -> Elected | None:
    """A leader for a partition whose leader is gone.

    alive: of `replicas` and `isr`, those online now. unclean_permitted: whether a replica outside the in-sync set
    may lead when no member of the set is alive; the set then shrinks to that replica.
    """
    living = tuple(replica for replica in replicas if replica in alive)
    for replica in living:
        if replica in isr:
            return Elected(replica, tuple(member for member in isr if member in alive), living)
    if unclean_permitted and living:
        return Elected(living[0], (living[0],), living, unclean=True)
    return None


def needs_unclean(isr: Sequence[int], alive: Collection[int]) -> bool:
    """Whether only an unclean election could find a leader: no member of the in-sync set is alive."""
    return not any(member in alive for member in isr)


def reassign(target: Sequence[int], isr: Sequence[int], alive: Collection[int]) -> Elected | None:
    """A leader among the replicas a reassignment leads to; the in-sync set stays."""
    leader = _first(target, lambda replica: replica in alive and replica in isr)
    return None if leader is None else Elected(leader, tuple(isr), tuple(target))


def preferred(replicas: Sequence[int], isr: Sequence[int], alive: Collection[int]) -> Elected | None:
    """The first replica of the assignment or nobody; it must be alive and in sync."""
    if not replicas or replicas[0] not in alive or replicas[0] not in isr:
        return None
    return Elected(replicas[0], tuple(isr), tuple(replicas))


def controlled_shutdown(
    replicas: Sequence[int], isr: Sequence[int], alive: Collection[int], shutting_down: Collection[int]
) -> Elected | None:
    """A leader that stays, and an in-sync set without the brokers that go.

    alive: includes the brokers that are shutting down; they are told as well.
    """
    leader = _first(replicas, lambda replica: replica in alive and replica in isr and replica not in shutting_down)
    if leader is None:
        return None
    staying = tuple(member for member in isr if member not in shutting_down)
    return Elected(leader, staying, tuple(replica for replica in replicas if replica in alive))


def _first(replicas: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    return next((replica for replica in replicas if fits(replica)), None)
