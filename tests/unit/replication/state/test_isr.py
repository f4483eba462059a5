"""The in-sync set while a change of it is on its way."""

from kafka_py.replication.state.isr import Committed, Expanding, Shrinking

ONE_TWO = frozenset({1, 2})


def test_an_expansion_counts_for_the_high_watermark_and_not_yet_for_min_insync() -> None:
    isr = Expanding(ONE_TWO, adding=3)
    assert isr.members == ONE_TWO
    assert isr.maximal == {1, 2, 3}
    assert isr.in_flight


def test_a_shrink_still_holds_the_replicas_that_leave() -> None:
    isr = Shrinking(ONE_TWO, removing=frozenset({2}))
    assert isr.members == isr.maximal == ONE_TWO
    assert isr.in_flight


def test_a_committed_set_is_its_own_maximum() -> None:
    assert Committed(ONE_TWO).maximal == ONE_TWO
    assert not Committed(ONE_TWO).in_flight
