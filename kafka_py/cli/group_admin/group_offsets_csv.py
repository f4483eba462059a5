"""Offsets as CSV: what kafka-consumer-groups.sh --export prints and --from-file takes.

`topic,partition,offset` for one group, `group,topic,partition,offset` for any number; no header.
Source: docs/reference/tools.md, section 4; CsvUtils (quoting).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.cli.common.command import Refused

Plan = dict[str, dict[TopicPartition, int]]
"""Group to partition to offset."""

UNQUOTED_CHARACTERS = 24
"""A longer text is put into quotes without a look at it."""


def csv_lines(offsets: Mapping[str, Mapping[TopicPartition, int]], *, with_group: bool) -> Iterator[str]:
    """A line per partition."""
    for group, by_partition in offsets.items():
        for (topic, number), offset in by_partition.items():
            names = [group, topic] if with_group else [topic]
            yield ",".join([*map(_quoted, names), str(number), str(offset)])


def _quoted(text: str) -> str:
    if len(text) > UNQUOTED_CHARACTERS or any(character < "-" for character in text):
        return '"' + text.replace('"', '""') + '"'
    return text


def parse_plan(lines: Iterable[str], only_group: str | None) -> Plan:
    """What a file asks for. only_group: whose lines without a group are; None where each must name its group.

    Empty lines are passed over. Raises Refused, naming the line, for a file that is no such CSV.
    """
    plan: Plan = {}
    for row_number, row in enumerate(csv.reader(lines, skipinitialspace=True), 1):
        fields = [field.strip() for field in row]
        if not any(fields):
            continue
        if len(fields) == 3 and only_group is not None:
            fields.insert(0, only_group)
        if len(fields) != 4:
            wanted = "group,topic,partition,offset" if only_group is None else "topic,partition,offset"
            raise Refused(f"line {row_number} has {len(fields)} fields, not {wanted}")
        group, topic, number, offset = fields
        if not number.isdecimal() or not offset.removeprefix("-").isdecimal():
            raise Refused(f"line {row_number} has a partition or offset that is no number: {','.join(row)}")
        plan.setdefault(group, {})[TopicPartition(topic, int(number))] = int(offset)
    if not plan:
        raise Refused("it holds no offsets")
    return plan
