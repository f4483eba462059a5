"""Which files stay open: the bound, the second chance, the sweep."""

from kafka_py.log.handles import OpenHandles


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
