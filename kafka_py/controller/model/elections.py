"""Leader elections: (assignment, in-sync set, live replicas) -> leader, new in-sync set, recipients of LeaderAndIsr.

Pure: knows broker ids only, nothing of states, ZooKeeper or requests. Source: docs/reference/controller.md, section 4.
"""

from collections.abc import Callable, Collection, Sequence
from enum import Enum
from typing import NamedTuple


class Strategy(Enum):
    """Why an election is held; decides which replicas may be elected."""

    OFFLINE = "offline"  # a new or leaderless partition; an out-of-sync leader only if the topic permits it
    UNCLEAN = "unclean"  # the same, and an administrator permits an out-of-sync leader for this election
    REASSIGN = "reassign"  # the leader is not among the target replicas
    PREFERRED = "preferred"  # the first replica of the assignment is to lead
    CONTROLLED_SHUTDOWN = "controlled shutdown"  # away from brokers that are shutting down


class Elected(NamedTuple):
    """The outcome of an election that found a leader.

    recipients: the brokers that get LeaderAndIsr. unclean: the leader was not in sync, records may be lost.
    """

    leader: int
    isr: tuple[int, ...]
    recipients: tuple[int, ...]
    unclean: bool = False


def first_leader(replicas: Sequence[int], alive: Collection[int]) -> Elected | None:
    """The first leader of a partition: the first live replica; all live replicas are the in-sync set."""
    living = tuple(replica for replica in replicas if replica in alive)
    return Elected(living[0], living, living) if living else None


def offline(
    replicas: Sequence[int], isr: Sequence[int], alive: Collection[int], unclean_permitted: bool
) -> Elected | None:
    """A leader for a partition whose leader is offline.

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
    """A leader among the target replicas of a reassignment; the in-sync set is not changed."""
    leader = _first(target, lambda replica: replica in alive and replica in isr)
    return None if leader is None else Elected(leader, tuple(isr), tuple(target))


def preferred(replicas: Sequence[int], isr: Sequence[int], alive: Collection[int]) -> Elected | None:
    """The first replica of the assignment if it is alive and in sync, else None."""
    if not replicas or replicas[0] not in alive or replicas[0] not in isr:
        return None
    return Elected(replicas[0], tuple(isr), tuple(replicas))


def controlled_shutdown(
    replicas: Sequence[int], isr: Sequence[int], alive: Collection[int], shutting_down: Collection[int]
) -> Elected | None:
    """A leader that is not shutting down, and an in-sync set without the brokers that are.

    alive: includes the brokers that are shutting down; they get LeaderAndIsr as well.
    """
    leader = _first(replicas, lambda replica: replica in alive and replica in isr and replica not in shutting_down)
    if leader is None:
        return None
    staying = tuple(member for member in isr if member not in shutting_down)
    return Elected(leader, staying, tuple(replica for replica in replicas if replica in alive))


def _first(replicas: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    return next((replica for replica in replicas if fits(replica)), None)
