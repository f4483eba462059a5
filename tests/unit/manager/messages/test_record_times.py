"""The time of the record at an offset: of the next one that is there, within the budget."""

import asyncio

from kafka_py.base.ids import TopicPartition
from kafka_py.manager.messages.positions import OffsetSpan
from kafka_py.manager.messages.record_times import record_times
from kafka_py.manager.messages.scanning import ScanBudget, ScanLimits


def times(topic, spans, limits=None):
    budget = ScanBudget(limits or ScanLimits(), topic.clock)
    wanted = {TopicPartition("t", number): OffsetSpan(*span) for number, span in spans.items()}
    return {tp.partition: time for tp, time in asyncio.run(record_times(topic, wanted, budget)).items()}


def test_the_first_record_from_the_offset_on_counts(memory_topic):
    logs = {number: ([(offset, 1_000 + offset, b"v") for offset in range(0, 40, 5)], 40) for number in range(3)}
    assert times(memory_topic(logs, per_poll=2), {0: (0, 40), 1: (7, 40), 2: (38, 40)}) == {0: 1_000, 1: 1_010}


def test_it_ends_with_its_budget(memory_topic):
    logs = {number: ([(0, 5, b"v")], 1) for number in range(50)}
    assert len(times(memory_topic(logs, per_poll=1), dict.fromkeys(range(50), (0, 1)), ScanLimits(time_ms=50))) == 5
