"""Runs of commits of one group are read faster than single ones, with the same result: compared on random records."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.coordinator.groups.group import Group
from kafka_py.coordinator.groups.offsets import CommittedOffset
from kafka_py.coordinator.groups.records import group_key, offset_keys, offset_value
from kafka_py.coordinator.groups.replay import GroupReplay
from kafka_py.records.batch import BatchHeader, Record, read_header
from kafka_py.records.builder import BatchBuilder

PARTITIONS = [TopicPartition(topic, number) for topic in ("t", "") for number in range(2)]
GROUPS = ("g", "gg", "", "h")
Offsets = dict[TopicPartition, CommittedOffset]
Found = dict[str, tuple[Offsets, dict[int, Offsets]]]


def header_of(builder: BatchBuilder) -> BatchHeader:
    builder.append(0, b"k", b"v")
    return read_header(builder.build())


PLAIN = header_of(BatchBuilder())
IN_TRANSACTION = header_of(BatchBuilder(producer_id=7, producer_epoch=0, base_sequence=0, transactional=True))


def random_key(chance: random.Random, group: str) -> bytes | None:
    """Mostly that of a commit, in either version; else a group's, none, or a damaged one."""
    (commit,) = offset_keys(group, [chance.choice(PARTITIONS)])
    kind = chance.randrange(16)
    if kind < 4:
        return (None, group_key(group), commit[:-1], b"\0\1" + commit)[kind]
    return (b"\0\0" if kind == 4 else b"\0\1") + commit[2:]


def random_value(chance: random.Random) -> bytes | None:
    """Mostly a commit without metadata; else one of another version or with metadata, a tombstone, or a damaged one."""
    commit = CommittedOffset(chance.randrange(1000), 2, chance.choice(("", "", "", "abcd")), 50)
    value = offset_value(commit, chance.choice((3, 3, 3, 0, 1, 2)))
    return chance.choice((value,) * 8 + (None, None, value[:-1]))


def random_records(chance: random.Random) -> list[Record]:
    records: list[Record] = []
    while len(records) < 200:
        group = chance.choice(GROUPS)
        for _ in range(chance.randrange(1, 6)):
            records.append(Record(len(records), 0, random_key(chance, group), random_value(chance)))
    return records


def replayed(calls: Iterable[tuple[BatchHeader, list[Record]]]) -> Found:
    """What each group has afterwards: its valid offsets, and those in open transactions."""
    groups: dict[str, Group] = {}
    replay = GroupReplay(
        SYSTEM_CLOCK, lambda found, _open: groups.update(found), lambda _group: None, Supervisor(SYSTEM_CLOCK)
    )
    for header, records in calls:
        replay.records(header, records)
    for _ in replay.finish():
        pass
    return {
        name: (
            group.offsets.committed,
            {producer: transaction.appended for producer, transaction in group.offsets.pending_txn.items()},
        )
        for name, group in groups.items()
    }


@pytest.mark.parametrize("seed", range(40))
def test_records_read_together_mean_what_they_mean_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    batches = [(chance.choice((PLAIN, IN_TRANSACTION)), random_records(chance)) for _ in range(4)]
    together = replayed(batches)
    assert together == replayed((header, [record]) for header, records in batches for record in records)
    assert any(offsets or in_transactions for offsets, in_transactions in together.values())


def test_a_commit_after_the_tombstone_of_the_groups_only_one_counts() -> None:
    (key,) = offset_keys("g", PARTITIONS[:1])
    values = [offset_value(CommittedOffset(1, 2, "", 50)), None, offset_value(CommittedOffset(2, 2, "", 50))]
    found = replayed([(PLAIN, [Record(number, 0, key, value) for number, value in enumerate(values)])])
    assert found == {"g": ({PARTITIONS[0]: CommittedOffset(2, 2, "", 50, record_offset=0)}, {})}
