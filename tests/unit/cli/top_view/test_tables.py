"""What `kafka-py top` shows: numbers, orders, names that a terminal must not obey."""

from __future__ import annotations

import uuid

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.top_view import tables
from kafka_py.cli.top_view.tables import COLUMNS, Subject, table_of, text_of
from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, GroupSeen, LogBounds


def topic(name: str, partitions: int) -> TopicInfo:
    return TopicInfo(
        name, uuid.UUID(int=1), False,
        tuple(PartitionInfo(name, number, 1, 1, (1,), (1,), ()) for number in range(partitions)),
    )  # fmt: skip


NOW = ClusterSnapshot(
    taken_ms=1000,
    cluster_id="c",
    controller_id=1,
    nodes={1: Node(1, "a", 9092)},
    topics={"few": topic("few", 1), "many": topic("many", 9), "none": topic("none", 2)},
    offsets={TopicPartition("few", 0): LogBounds(0, 10), TopicPartition("many", 0): LogBounds(0, 99)},
    groups={"\x1b[31mred": GroupSeen("\x1b[31mred", "consumer", "Empty", 1)},
)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0, "0"), (9999, "9999"), (12_345, "12.3k"), (-12_345, "-12.3k"), (2_000_000, "2.0M"),
     (3.4e9, "3.4G"), (5e12, "5.0T")],
)  # fmt: skip
def test_counts(value: float | None, text: str) -> None:
    assert tables.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (5, "5 B"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB"), (1 << 41, "2.0 TiB")]
)
def test_sizes(value: int | None, text: str) -> None:
    assert tables.size(value) == text


def test_changes_have_a_sign() -> None:
    assert [tables.change(value) for value in (None, 0, 5, -5)] == ["-", "0", "+5", "-5"]


def test_texts_are_in_order_from_a_on_numbers_from_the_largest_on_and_unknown_ones_come_last() -> None:
    titles = [column.title for column in COLUMNS[Subject.TOPICS]]
    by_name = table_of(Subject.TOPICS, titles.index("TOPIC"), 9, NOW, None)
    assert [row[0] for row in by_name.rows] == ["few", "many", "none"]
    by_records = table_of(Subject.TOPICS, titles.index("RECORDS"), 9, NOW, None)
    assert [row[0] for row in by_records.rows] == ["many", "few", "none"]


def test_no_more_rows_than_fit() -> None:
    shown = table_of(Subject.TOPICS, 1, 1, NOW, None)
    assert ([row[0] for row in shown.rows], shown.all_rows) == (["many"], 3)


def test_a_name_cannot_steer_the_terminal() -> None:
    assert table_of(Subject.GROUPS, 0, 9, NOW, None).rows[0][0] == "?[31mred"
    assert tables.document_of(NOW, None)["groups"][0]["group"] == "\x1b[31mred"


def test_the_text_has_columns() -> None:
    assert text_of(table_of(Subject.TOPICS, 0, 1, NOW, None)) == [
        "TOPIC  PARTITIONS  RF  OFFLINE  LAGGING  RECORDS  SIZE  RECORDS/S",
        "few             1   1        0        0       10     -          -",
    ]


def test_the_heading() -> None:
    assert tables.heading(NOW) == "cluster c: 1 brokers, controller 1, 3 topics, 12 partitions, 1 groups"
    assert tables.heading(ClusterSnapshot(taken_ms=0)) == "No broker answers."
