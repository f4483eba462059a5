"""What the keys of `kafka-py top` do."""

from __future__ import annotations

import pytest

from kafka_py.cli.top_view.keys import TopView, pressed, view_of
from kafka_py.cli.top_view.tables import COLUMNS, Subject


@pytest.mark.parametrize(("key", "subject"), [("b", Subject.BROKERS), ("t", Subject.TOPICS), ("g", Subject.GROUPS)])
def test_subjects(key: str, subject: Subject) -> None:
    assert pressed(TopView(), key) == view_of(subject)
    assert 0 <= view_of(subject).order < len(COLUMNS[subject])


def test_tab_goes_through_the_subjects() -> None:
    view = TopView()
    seen = []
    for _ in range(4):
        seen.append(view.subject)
        view = pressed(view, "\t")
    assert seen == [Subject.BROKERS, Subject.TOPICS, Subject.GROUPS, Subject.BROKERS]


def test_the_order_goes_round() -> None:
    last = len(COLUMNS[Subject.BROKERS]) - 1
    assert pressed(TopView(), "<").order == last
    assert pressed(TopView(order=last), ">").order == 0


@pytest.mark.parametrize("key", ["q", "Q", "\x03", "\x04"])
def test_leaving(key: str) -> None:
    assert pressed(TopView(), key).is_over


def test_space_looks_at_once_and_other_keys_do_nothing() -> None:
    assert pressed(TopView(), " ").wants_look
    assert pressed(TopView(), "x") == TopView()
    assert pressed(TopView(), "\x1b") == TopView()
