"""Scans: read to the end of their ranges, within their budget, and say how far they got."""

import asyncio

import pytest

from kafka_py.manager.messages.positions import OffsetSpan
from kafka_py.manager.messages.scanning import PartitionScan, ScanBudget, ScanLimits, StopReason


def log(start, end, *, gap=1, markers=0, size=1):
    return [(offset, 1_000 + offset, b"v" * size) for offset in range(start, end, gap)], end + markers


def scan(topic, spans, limits=None, *, only=None):
    budget = ScanBudget(limits or ScanLimits(), topic.clock)
    made = PartitionScan(topic, "t", {number: OffsetSpan(*span) for number, span in spans.items()}, budget)

    async def read():
        found = []
        async for part in made.parts():
            found += [(record.partition, record.offset) for record in part]
            if only is not None and len(found) >= only:
                await made.finish(part[0].partition)
        return found

    return asyncio.run(read()), made, budget


def test_each_partition_is_read_to_the_end_of_its_range(memory_topic):
    found, made, budget = scan(memory_topic({0: log(0, 30), 1: log(5, 20)}), {0: (3, 12), 1: (5, 20)})
    assert sorted(found) == [(0, offset) for offset in range(3, 12)] + [(1, offset) for offset in range(5, 20)]
    assert (made.next_offsets, made.unfinished) == ({0: 12, 1: 20}, set())
    assert (budget.records, budget.stopped_by) == (24, None)


def test_gaps_and_markers_at_the_end_are_passed(memory_topic):
    found, made, _ = scan(memory_topic({0: log(0, 10, gap=4, markers=3)}), {0: (0, 13)})
    assert [offset for _, offset in found] == [0, 4, 8]
    assert made.next_offsets == {0: 13}


def test_empty_ranges_end_at_once(memory_topic):
    topic = memory_topic({0: log(0, 5)})
    assert scan(topic, {0: (5, 5)})[0] == []
    assert topic.positions == {}


@pytest.mark.parametrize(
    ("limits", "reason", "records"),
    [
        (ScanLimits(records=10), StopReason.RECORDS, 14),
        (ScanLimits(size_bytes=1_000), StopReason.BYTES, 14),
        (ScanLimits(time_ms=30), StopReason.TIME, 21),
    ],
)
def test_a_scan_ends_with_its_budget_and_says_how_far_it_got(memory_topic, limits, reason, records):
    found, made, budget = scan(memory_topic({0: log(0, 500, size=100)}), {0: (0, 500)}, limits)
    assert (len(found), budget.stopped_by, made.next_offsets) == (records, reason, {0: records})
    assert made.unfinished == {0}


def test_a_partition_of_which_no_more_is_wanted_is_not_read_on(memory_topic):
    found, made, _ = scan(memory_topic({0: log(0, 500)}), {0: (0, 500)}, only=10)
    assert len(found) == 14
    assert made.unfinished == set()


def test_records_before_the_range_are_not_shown_where_a_log_became_shorter(memory_topic):
    class ShorterTopic(memory_topic):
        async def seek(self, partition, offset):
            self.positions[partition.partition] = 0  # out of range: as auto.offset.reset has it

    found, made, _ = scan(ShorterTopic({0: log(0, 20)}), {0: (12, 20)})
    assert found == [(0, offset) for offset in range(12, 20)]
    assert made.next_offsets == {0: 20}
