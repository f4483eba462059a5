"""The log of state changes: how many things are named in a line."""

from kafka_py.base.state_changes import MOST_NAMED, named


def test_a_few_are_all_named() -> None:
    assert named(["t-0", "t-1"]) == "t-0, t-1"
    assert named([]) == ""


def test_of_many_the_first_and_how_many_more() -> None:
    text = named(list(range(MOST_NAMED + 5)))
    assert text.startswith("0, 1, ") and text.endswith(f"{MOST_NAMED - 1} and 5 more")
    assert named(iter(range(MOST_NAMED + 1)), MOST_NAMED + 1).endswith("and 1 more")
