"""Which event fires which watch."""

import pytest

from kafka_py.zk.session import EventType, WatchEvent
from kafka_py.zk.watches import WatchKind, WatchTable

FIRED = {
    EventType.CREATED: {WatchKind.DATA, WatchKind.EXIST},
    EventType.CHANGED: {WatchKind.DATA, WatchKind.EXIST},
    EventType.DELETED: {WatchKind.DATA, WatchKind.EXIST, WatchKind.CHILD},
    EventType.CHILDREN: {WatchKind.CHILD},
}


@pytest.mark.parametrize("kind", WatchKind)
@pytest.mark.parametrize("event", EventType)
def test_an_event_fires_its_kinds_of_watch_on_its_path_alone_and_once(event, kind):
    table = WatchTable()
    seen = []
    table.add(kind, "/a", seen.append)
    table.fire(WatchEvent(event, "/b"))
    table.fire(WatchEvent(event, "/a"))
    table.fire(WatchEvent(event, "/a"))
    fired = kind in FIRED[event]
    assert seen == ([WatchEvent(event, "/a")] if fired else [])
    assert list(table.paths(kind)) == ([] if fired else ["/a"])


def test_one_callback_of_several_kinds_is_called_once():
    table = WatchTable()
    seen = []
    for kind in WatchKind:
        table.add(kind, "/a", seen.append)
    table.fire(WatchEvent(EventType.DELETED, "/a"))
    assert len(seen) == 1


def test_what_is_cleared_is_never_called():
    table = WatchTable()
    table.add(WatchKind.DATA, "/a", lambda event: pytest.fail("called"))
    table.clear()
    table.fire(WatchEvent(EventType.CHANGED, "/a"))
