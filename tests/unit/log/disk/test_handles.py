"""Which files stay open: the bound, the second chance, the sweep."""

import errno

import pytest

from kafka_py.log.disk.files import explained, open_files_limit
from kafka_py.log.disk.handles import OpenHandles, handles_within


class Held:
    def __init__(self, name):
        self.name = name
        self.used = False
        self.open = True

    def release(self):
        self.open = False


def opened(handles, *names):
    held = [Held(name) for name in names]
    for each in held:
        handles.opened(each)
    return held


def test_beyond_the_bound_the_oldest_that_was_not_used_since_is_released():
    handles = OpenHandles(3)
    held = opened(handles, *"abc")
    for each in held:
        each.used = False
    held[0].used = True
    opened(handles, "d")
    assert [each.open for each in held] == [True, False, True]
    assert len(handles) == 3


def test_when_all_are_in_use_one_goes_all_the_same():
    handles = OpenHandles(2)
    held = opened(handles, *"ab")
    opened(handles, "c")
    assert [each.open for each in held].count(False) == 1


def test_the_sweep_releases_what_was_idle_for_a_whole_round():
    handles = OpenHandles()
    held = opened(handles, *"ab")
    assert handles.close_idle() == 0
    held[1].used = True
    assert handles.close_idle() == 1
    assert [each.open for each in held] == [False, True]
    assert handles.close_idle() == 1
    assert len(handles) == 0


def test_what_closed_by_itself_is_forgotten():
    handles = OpenHandles()
    (held,) = opened(handles, "a")
    handles.closed(held)
    handles.closed(held)
    assert len(handles) == 0


@pytest.mark.parametrize(("limit", "handles"), [(1 << 20, 256), (2048, 256), (1024, 128), (256, 32), (4, 1)])
def test_where_few_files_may_be_open_most_of_them_are_left_to_partitions(limit, handles):
    assert handles_within(limit) == handles


def test_who_has_no_descriptor_left_is_told_the_limit_and_the_way_out():
    """WE4-41."""
    text = explained(OSError(errno.EMFILE, "Too many open files", "/logs/t-1"))
    assert "Too many open files: '/logs/t-1'" in text
    assert f"may have {open_files_limit()} files open" in text and "ulimit -n" in text
    assert explained(OSError(errno.EIO, "no")) == "[Errno 5] no"
