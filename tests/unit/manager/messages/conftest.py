"""A topic in memory, as a consumer without a group sees it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords, OffsetAndTimestamp
from kafka_py.records.batch import TimestampType
from kafka_py.testing.clock import ManualClock


class MemoryTopic:
    """Answers as AsyncConsumer does. Each poll returns at most `per_poll` records, and takes 10 ms of its clock.

    logs: by partition, the records (offset, timestamp, value) and the end offset.
    """

    def __init__(self, logs, *, per_poll=7, leaderless=()):
        self.clock = ManualClock()
        self.logs = logs
        self.per_poll = per_poll
        self.leaderless = leaderless
        self.positions: dict[int, int] = {}
        self.paused: set[int] = set()
        self.most_polled = 0

    async def partitions_for(self, topic, timeout=None):
        return [
            SimpleNamespace(partition=number, leader=-1 if number in self.leaderless else 1) for number in self.logs
        ]

    def _starts(self, number):
        records, end = self.logs[number]
        return records[0][0] if records else end

    async def beginning_offsets(self, partitions, timeout=None):
        return {tp: self._starts(tp.partition) for tp in partitions}

    async def end_offsets(self, partitions, timeout=None):
        return {tp: self.logs[tp.partition][1] for tp in partitions}

    async def offsets_for_times(self, timestamps, timeout=None):
        return {
            tp: next((OffsetAndTimestamp(record[0], record[1]) for record in self.logs[tp.partition][0]
                      if record[1] >= at), None)
            for tp, at in timestamps.items()
        }  # fmt: skip

    async def assign(self, partitions):
        self.positions = dict.fromkeys(tp.partition for tp in partitions)
        self.paused = set()

    async def seek(self, partition, offset):
        self.positions[partition.partition] = offset

    async def pause(self, partitions):
        self.paused.update(tp.partition for tp in partitions)

    async def position(self, partition, timeout=None):
        return self.positions[partition.partition]

    async def poll(self, timeout=0.0):
        self.clock.advance(10)
        left, polled = self.per_poll, {}
        for number, position in self.positions.items():
            if number in self.paused:
                continue
            records, end = self.logs[number]
            some = [record for record in records if record[0] >= position][:left]
            left -= len(some)
            if some:
                polled[TopicPartition("t", number)] = [self._record(number, *each) for each in some]
            whole = left > 0
            self.positions[number] = end if whole else some[-1][0] + 1 if some else position
        return ConsumerRecords(polled)

    def _record(self, number, offset, timestamp, value=b"v"):
        return ConsumerRecord("t", number, offset, timestamp, TimestampType.CREATE_TIME, -1, len(value), None, value,
                              (), 0)  # fmt: skip


@pytest.fixture
def memory_topic():
    return MemoryTopic
