"""The inter-broker protocol version: its names in order, and which version of each request between brokers it means.

Nothing is negotiated on connections between brokers, so these tables alone decide what is sent.
Pure. Source: docs/reference/protocol.md, sections 4 and 5.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Check

NAMES = (
    "0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2",
    "0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0",
    "2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0",
    "2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1",
)  # fmt: skip
"""Every version, the oldest first."""

Versions = TypeVar("Versions")

_ORDER = {name: index for index, name in enumerate(NAMES)}


class ControllerRequestVersions(NamedTuple):
    """The version of each request that the controller sends."""

    leader_and_isr: int
    update_metadata: int
    stop_replica: int


_REQUEST_VERSIONS = {
    "0.8.0":      ControllerRequestVersions(0, 0, 0),
    "0.9.0":      ControllerRequestVersions(0, 1, 0),
    "0.10.0-IV1": ControllerRequestVersions(0, 2, 0),
    "0.10.2-IV0": ControllerRequestVersions(0, 3, 0),
    "1.0-IV0":    ControllerRequestVersions(1, 4, 0),
    "2.2-IV0":    ControllerRequestVersions(2, 5, 1),
    "2.4-IV0":    ControllerRequestVersions(3, 5, 1),
    "2.4-IV1":    ControllerRequestVersions(4, 6, 2),
    "2.6-IV0":    ControllerRequestVersions(4, 6, 3),
    "2.8-IV1":    ControllerRequestVersions(5, 7, 3),
}  # fmt: skip
"""The first protocol version that sends these; it holds until the next row."""


class FollowerRequestVersions(NamedTuple):
    """The version of each request that a follower sends to its leader."""

    fetch: int
    offset_for_leader_epoch: int
    list_offsets: int


_FOLLOWER_VERSIONS = {
    "0.8.0":      FollowerRequestVersions(0, 0, 0),
    "0.9.0":      FollowerRequestVersions(1, 0, 0),
    "0.10.0-IV0": FollowerRequestVersions(2, 0, 0),
    "0.10.1-IV1": FollowerRequestVersions(3, 0, 0),
    "0.10.1-IV2": FollowerRequestVersions(3, 0, 1),
    "0.11.0-IV0": FollowerRequestVersions(4, 0, 2),
    "0.11.0-IV1": FollowerRequestVersions(5, 0, 2),
    "1.1-IV0":    FollowerRequestVersions(7, 0, 2),
    "2.0-IV0":    FollowerRequestVersions(7, 1, 2),
    "2.0-IV1":    FollowerRequestVersions(8, 1, 3),
    "2.1-IV1":    FollowerRequestVersions(8, 2, 4),
    "2.1-IV2":    FollowerRequestVersions(10, 2, 4),
    "2.2-IV1":    FollowerRequestVersions(10, 2, 5),
    "2.3-IV1":    FollowerRequestVersions(11, 3, 5),
    "2.7-IV1":    FollowerRequestVersions(12, 3, 5),
    "2.8-IV0":    FollowerRequestVersions(12, 4, 6),
}  # fmt: skip
"""The same for what followers send."""


class InterBrokerVersion:
    """One protocol version, comparable by age; `InterBrokerVersion("2.6")` is the last one of release 2.6."""

    __slots__ = ("_age", "name")

    def __init__(self, text: str) -> None:
        """Raises ConfigError for a name that no release had."""
        self.name = _full_name(text)
        self._age = _ORDER[self.name]

    def at_least(self, name: str) -> bool:
        """Whether this version is as new as `name`, a full name of NAMES."""
        return self._age >= _ORDER[name]

    @property
    def requests(self) -> ControllerRequestVersions:
        """Which versions of the controller's requests are sent under it."""
        return self._row(_REQUEST_VERSIONS)

    @property
    def follower_requests(self) -> FollowerRequestVersions:
        """Which versions of a follower's requests are sent under it."""
        return self._row(_FOLLOWER_VERSIONS)

    @property
    def truncates_by_epoch(self) -> bool:
        """Whether followers ask OffsetForLeaderEpoch where to cut (KIP-101); before that it is the high watermark."""
        return self.at_least("0.11.0-IV2")

    @property
    def truncates_on_fetch(self) -> bool:
        """Whether the answer to a fetch says where a follower must cut, without a question of its own (KIP-595)."""
        return self.at_least("2.7-IV1")

    def _row(self, table: Mapping[str, Versions]) -> Versions:
        """The newest row that is not newer than this version."""
        first = [_ORDER[name] for name in table]
        return list(table.values())[bisect.bisect_right(first, self._age) - 1]

    @property
    def controlled_shutdown(self) -> int:
        """Which version of ControlledShutdown a broker sends that shuts down."""
        gates = ("0.9.0", "2.2-IV0", "2.4-IV1")
        return sum(self.at_least(gate) for gate in gates)

    @property
    def write_txn_markers(self) -> int:
        """Which version of WriteTxnMarkers a transaction coordinator sends."""
        return 1 if self.at_least("2.8-IV0") else 0

    @property
    def has_topic_ids(self) -> bool:
        """Whether topics get an id when they are made, and old ones one from the controller (KIP-516)."""
        return self.at_least("2.8-IV0")

    @property
    def has_features(self) -> bool:
        """Whether `/feature` is enabled (KIP-584)."""
        return self.at_least("2.7-IV0")

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InterBrokerVersion) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


def _full_name(text: str) -> str:
    if text in _ORDER:
        return text
    parts = text.split(".")
    release = ".".join(parts[: 3 if parts[0] == "0" else 2])
    of_release = [name for name in NAMES if name == release or name.startswith(release + "-")]
    if len(parts) < 2 or not of_release or "-" in text:
        raise ConfigError(f"Version {text!r} is not an inter-broker protocol version ({NAMES[0]} to {NAMES[-1]})")
    return of_release[-1]


def _is_known(text: str) -> bool:
    try:
        _full_name(text)
    except ConfigError:
        return False
    return True


KNOWN_VERSION = Check(_is_known, f"a version from {NAMES[0]} to {NAMES[-1]}, or a release such as 2.6")
"""The rule of the settings that hold a protocol version."""
