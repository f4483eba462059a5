"""The arguments of a decision about a group besides the group and the event: the time, and the settings in force.

Pure. Source: docs/reference/groups.md, section 3.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class GroupConfig(Protocol):
    """The settings of membership, as coordinator/configs.py names them."""

    @property
    def group_min_session_timeout_ms(self) -> int: ...

    @property
    def group_max_session_timeout_ms(self) -> int: ...

    @property
    def group_initial_rebalance_delay_ms(self) -> int: ...

    @property
    def group_max_size(self) -> int: ...


class Moment(NamedTuple):
    """wall_ms: for timestamps that are stored. now_ms: the monotonic clock, for deadlines. limits: in force now."""

    wall_ms: int
    now_ms: float
    limits: GroupConfig
