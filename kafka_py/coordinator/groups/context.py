"""What the parts of group membership share: the store of groups, the limits, the clock, and the counters.

No decisions are made here. The store is metadata_store.py's; membership knows it only as the protocol Store below.
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
from kafka_py.coordinator.groups.moment import GroupConfig
from kafka_py.coordinator.groups.removal import Removed

OnPersisted = Callable[[ErrorCode], None]


class Store(Protocol):
    """Stores groups: in memory, and as records of the offsets topic."""

    def check(self, group_id: str, *, may_be_empty: bool = False) -> None:
        """Raises KafkaError: INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
        COORDINATOR_NOT_AVAILABLE. may_be_empty: the API accepts an empty group id.
        """
        ...

    def get(self, group_id: str) -> Group | None: ...

    def get_or_create(self, group_id: str) -> Group: ...

    def groups(self) -> Iterable[Group]:
        """All groups that this broker coordinates."""
        ...

    @property
    def loading(self) -> bool:
        """Whether some partition is still being loaded, so that `groups` is incomplete."""
        ...

    def persist(self, group: Group, assignments: Mapping[str, bytes], on_done: OnPersisted) -> None:
        """Appends the group as it is now, with the members' assignments. Calls back on the loop, perhaps before this
        returns, with NONE or the error for the members.
        """
        ...

    def bury(self, group: Group, removed: Removed) -> None:
        """Appends tombstones for what was removed from the group, and forgets the group if it was removed itself."""
        ...

    def guard(self, group: Group) -> Guard:
        """A context: an exception of work on the group is reported, and the code after the context runs."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """limits: read for each request, as settings may change. rebalances: parked JoinGroup and SyncGroup requests.

    on_rebalance_completed: called when the leader of a group has sent an assignment.
    """

    store: Store
    clock: Clock
    timers: Timers
    limits: Callable[[], GroupConfig]
    rebalances: Purgatory[Hashable]
    on_rebalance_completed: Callable[[], None]
