"""What `kafka-py top` shows: rows of text in an order, from two looks at a cluster. Knows no terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kafka_py.operations.cluster_view import activity
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot

UNKNOWN = "-"


class Subject(StrEnum):
    """What the table is about."""

    BROKERS = "brokers"
    TOPICS = "topics"
    GROUPS = "groups"


class Column(NamedTuple):
    """field: of the activity's row. most_first: whether numbers are ordered from the largest on."""

    title: str
    field: str
    shown: Callable[[Any], str]
    is_number: bool = True


class ShownTable(NamedTuple):
    """order: the column by which the rows are in order. all_rows: how many there are, shown or not."""

    subject: Subject
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    order: int
    all_rows: int


def count(value: float | None) -> str:
    """A number in at most seven characters: 12, 3.4k, 2.0M."""
    if value is None:
        return UNKNOWN
    for limit, divisor, unit in ((10_000, 1, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M"), (1e12, 1e9, "G")):
        if abs(value) < limit:
            return f"{value / divisor:.1f}{unit}" if unit else f"{value:.0f}"
    return f"{value / 1e12:.1f}T"


def size(value: int | None) -> str:
    """Bytes in units of 1,024."""
    if value is None:
        return UNKNOWN
    for shift, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if value >= 1 << shift:
            return f"{value / (1 << shift):.1f} {unit}"
    return f"{value} B"


def change(value: int | None) -> str:
    """With its sign."""
    return UNKNOWN if value is None else f"{'+' if value > 0 else ''}{count(value)}"


def printable(text: object) -> str:
    """Without characters that would move the cursor or change colours: names may hold any."""
    return "".join(each if each.isprintable() else "?" for each in str(text))


def yes(value: bool) -> str:
    return "*" if value else ""


COLUMNS: dict[Subject, tuple[Column, ...]] = {
    Subject.BROKERS: (
        Column("BROKER", "broker", str, False), Column("ADDRESS", "address", printable, False),
        Column("RACK", "rack", printable, False), Column("CTRL", "is_controller", yes),
        Column("LEADS", "leaders", count), Column("REPLICAS", "replicas", count), Column("LAGGING", "lagging", count),
        Column("SIZE", "bytes", size), Column("RECORDS/S", "written_per_s", count),
    ),
    Subject.TOPICS: (
        Column("TOPIC", "topic", printable, False), Column("PARTITIONS", "partitions", count),
        Column("RF", "replication_factor", count), Column("OFFLINE", "offline", count),
        Column("LAGGING", "lagging", count), Column("RECORDS", "records", count), Column("SIZE", "bytes", size),
        Column("RECORDS/S", "written_per_s", count),
    ),
    Subject.GROUPS: (
        Column("GROUP", "group", printable, False), Column("STATE", "state", printable, False),
        Column("MEMBERS", "members", count), Column("TOPICS", "topics", count), Column("LAG", "lag", count),
        Column("CHANGE", "change", change), Column("RECORDS/S", "read_per_s", count),
    ),
}  # fmt: skip
_ROWS: dict[Subject, Callable[[ClusterSnapshot, ClusterSnapshot | None], Sequence[NamedTuple]]] = {
    Subject.BROKERS: activity.brokers_of,
    Subject.TOPICS: activity.topics_of,
    Subject.GROUPS: activity.groups_of,
}


def table_of(
    subject: Subject, order: int, most: int, now: ClusterSnapshot, before: ClusterSnapshot | None
) -> ShownTable:
    """The first `most` rows by the column `order`: texts from a on, numbers from the largest on, unknown ones last."""
    columns = COLUMNS[subject]
    column = columns[order]
    rows = list(_ROWS[subject](now, before))
    if column.is_number:
        rows.sort(key=lambda row: -_number(getattr(row, column.field)))
    else:
        rows.sort(key=lambda row: getattr(row, column.field))
    shown = [[each.shown(getattr(row, each.field)) for each in columns] for row in rows[:most]]
    return ShownTable(subject, columns, shown, order, len(rows))


def _number(value: float | None) -> float:
    return float("-inf") if value is None else float(value)


def heading(now: ClusterSnapshot) -> str:
    """One line about the whole cluster."""
    if not now.is_reached:
        return "No broker answers."
    controller = now.controller
    partitions = sum(len(topic.partitions) for topic in now.topics.values())
    unseen = f", {len(now.unseen)} answers are missing" if now.unseen else ""
    return (
        f"cluster {printable(now.cluster_id or UNKNOWN)}: {len(now.nodes)} brokers, controller "
        f"{UNKNOWN if controller is None else now.controller_id}, {len(now.topics)} topics, {partitions} partitions, "
        f"{len(now.groups)} groups{unseen}"
    )


def text_of(table: ShownTable) -> list[str]:
    """The table as lines, for what is no terminal."""
    titles = [column.title for column in table.columns]
    widths = [max(map(len, cells)) for cells in zip(titles, *table.rows, strict=True)]
    lines = []
    for cells in (titles, *table.rows):
        parts = [
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(cells, widths, table.columns, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return lines


def document_of(now: ClusterSnapshot, before: ClusterSnapshot | None) -> dict[str, Any]:
    """All tables, for programs: numbers as they are, unknown ones null."""
    return {
        "cluster_id": now.cluster_id,
        "controller": now.controller_id,
        **{subject.value: [row._asdict() for row in _ROWS[subject](now, before)] for subject in Subject},
        "missing": [str(each) for each in now.unseen],
    }
