"""What the parts of group membership share: where groups are kept, the limits, time, and what they count.

Nothing here decides anything. The store is metadata_store.py's; membership knows it only as the Store below.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.purgatory import Purgatory
from kafka_py.base.supervision import Guard
from kafka_py.base.timers import Timers
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.moment import Limits
from kafka_py.coordinator.groups.removal import Removed

OnPersisted = Callable[[ErrorCode], None]


class Store(Protocol):
    """Where groups are kept: in memory, and as records of the offsets topic."""

    def check(self, group_id: str, *, may_be_empty: bool = False) -> None:
        """Raises KafkaError: INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE. may_be_empty: the API at hand takes the empty text for a group id.
        """
        ...

    def get(self, group_id: str) -> Group | None: ...

    def get_or_create(self, group_id: str) -> Group: ...

    def groups(self) -> Iterable[Group]:
        """All groups that this broker coordinates."""
        ...

    @property
    def loading(self) -> bool:
        """Whether some partition is still being loaded, and `groups` therefore lacks some."""
        ...

    def persist(self, group: Group, assignments: Mapping[str, bytes], on_done: OnPersisted) -> None:
        """Appends the group as it is now, with what each member is to work on; calls back on the loop, perhaps
        before this returns, with NONE or the error that members are told.
        """
        ...

    def bury(self, group: Group, removed: Removed) -> None:
        """Deletes from the log what the group has lost, and forgets it if it has ended with that."""
        ...

    def guard(self, group: Group) -> Guard:
        """A context: what work on the group raises is reported, and the code after the context runs."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """limits: asked for each time, as settings may change. rebalances: parked rounds of joining and of syncing.

    on_rebalance_completed: the leader of a group has handed in an assignment.
    """

    store: Store
    clock: Clock
    timers: Timers
    limits: Callable[[], Limits]
    rebalances: Purgatory[Hashable]
    on_rebalance_completed: Callable[[], None]
