"""The client's watches: a table of one-shot callbacks by path.

Three kinds, as the server keeps them: "data" (set on an existing znode by get or exists), "exist" (set by exists on an
absent one), "child" (set by children). Knows no connection.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable

from kafka_py.zk.session import EventType, Watch, WatchEvent

_log = logging.getLogger(__name__)


class WatchKind(enum.Enum):
    """The request that set the watch."""

    DATA = "data"
    EXIST = "exist"
    CHILD = "child"


FIRED_BY: dict[EventType, tuple[WatchKind, ...]] = {
    EventType.CREATED: (WatchKind.DATA, WatchKind.EXIST),
    EventType.CHANGED: (WatchKind.DATA, WatchKind.EXIST),
    EventType.DELETED: (WatchKind.DATA, WatchKind.EXIST, WatchKind.CHILD),
    EventType.CHILDREN: (WatchKind.CHILD,),
}


class WatchTable:
    """Callbacks by kind and path; a callback is stored at most once per kind and path."""

    def __init__(self) -> None:
        # A dict of callbacks keeps their order and drops duplicates.
        self._set: dict[WatchKind, dict[str, dict[Watch, None]]] = {kind: {} for kind in WatchKind}

    def add(self, kind: WatchKind, path: str, watch: Watch) -> None:
        """Sets a watch."""
        self._set[kind].setdefault(path, {})[watch] = None

    def fire(self, event: WatchEvent) -> None:
        """Removes and calls the callbacks of the event; an exception of a callback is logged."""
        fired: dict[Watch, None] = {}
        for kind in FIRED_BY[event.type]:
            fired |= self._set[kind].pop(event.path, {})
        for watch in fired:
            try:
                watch(event)
            except Exception:
                _log.exception("a watch failed on %s", event)

    def paths(self, kind: WatchKind) -> Iterable[str]:
        """The paths on which a watch of this kind is set."""
        return self._set[kind].keys()

    def clear(self) -> None:
        """Removes all watches without calling them, as at an expiry."""
        for watches in self._set.values():
            watches.clear()
