"""What the keys of `kafka-py top` do to its view: pure."""

from __future__ import annotations

from typing import NamedTuple

from kafka_py.cli.top_view.tables import COLUMNS, Subject

HELP = "b brokers   t topics   g groups   < > order   space at once   q quit"
_SUBJECTS = {"b": Subject.BROKERS, "t": Subject.TOPICS, "g": Subject.GROUPS}
_NEXT_SUBJECT = "\t"
FIRST_ORDERS = {Subject.BROKERS: 0, Subject.TOPICS: 7, Subject.GROUPS: 4}
"""The columns by which the tables are in order at first: brokers by id, topics by rate, groups by lag."""


class TopView(NamedTuple):
    """What is shown. is_over: the user wants to leave. wants_look: at once, not only when the interval has passed."""

    subject: Subject = Subject.BROKERS
    order: int = 0
    is_over: bool = False
    wants_look: bool = False


def view_of(subject: Subject) -> TopView:
    return TopView(subject, FIRST_ORDERS[subject])


def pressed(view: TopView, key: str) -> TopView:
    """The view after a key; other keys change nothing. \\x03 and \\x04: Ctrl-C and Ctrl-D, read as characters."""
    if key in ("q", "Q", "\x03", "\x04"):
        return view._replace(is_over=True)
    if key in _SUBJECTS:
        return view_of(_SUBJECTS[key])
    if key == _NEXT_SUBJECT:
        subjects = list(Subject)
        return view_of(subjects[(subjects.index(view.subject) + 1) % len(subjects)])
    if key in "<>" and key:
        step = 1 if key == ">" else -1
        return view._replace(order=(view.order + step) % len(COLUMNS[view.subject]))
    if key == " ":
        return view._replace(wants_look=True)
    return view
