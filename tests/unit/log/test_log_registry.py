"""Which logs a broker holds, and how many of them each directory has."""

from types import SimpleNamespace
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.log.log_registry import LogRegistry

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def log_of(topic_partition: TopicPartition, directory: str, *, is_future: bool = False) -> Any:
    return SimpleNamespace(
        topic_partition=topic_partition, log_dir=directory, files=SimpleNamespace(is_future=is_future)
    )


def test_a_second_log_of_a_partition_is_not_added() -> None:
    logs = LogRegistry()
    first, second = log_of(A, "/a"), log_of(A, "/b")
    assert logs.add(first) is first
    assert logs.add(second) is first
    assert logs.all() == [first] and logs.counts == {"/a": 1}
    assert logs.is_current(first) and not logs.is_current(second)


def test_a_future_log_is_kept_beside_the_present_one() -> None:
    logs = LogRegistry()
    present, future = log_of(A, "/a"), log_of(A, "/b", is_future=True)
    logs.add(present)
    logs.add(future)
    assert (logs.present[A], logs.future[A]) == (present, future)
    assert logs.is_current(present) and logs.is_current(future)
    assert logs.in_directory("/b") == [future]


def test_a_promoted_log_takes_the_place_of_the_present_one_and_counts_follow() -> None:
    logs = LogRegistry()
    present, other, future = log_of(A, "/a"), log_of(B, "/a"), log_of(A, "/b", is_future=True)
    for log in (present, other, future):
        logs.add(log)
    logs.promote(A)
    assert list(logs.present.items()) == [(A, future), (B, other)], "in the place that the present one had"
    assert logs.future == {}
    assert logs.counts == {"/a": 1, "/b": 1}
    assert not logs.is_current(present)


def test_a_log_that_was_replaced_is_not_removed_under_its_name() -> None:
    logs = LogRegistry()
    present, stranger = log_of(A, "/a"), log_of(A, "/a")
    logs.add(present)
    logs.remove(stranger)
    assert logs.present == {A: present}
    logs.remove(present)
    assert logs.all() == [] and logs.counts["/a"] == 0
