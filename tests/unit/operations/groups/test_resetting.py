"""Where a reset takes a group, by scenario, on an admin client that answers from a table."""

import asyncio
from types import SimpleNamespace

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition
from kafka_py.clients.admin.offsets import ListedOffset
from kafka_py.clients.admin.results import Results
from kafka_py.clients.offsets import OffsetAndMetadata
from kafka_py.operations.groups.resetting import (
    GroupReset,
    NothingCommitted,
    OffsetLookup,
    ResetScenario,
    kept_within,
    new_offsets,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
OFFSETS = {
    EARLIEST_TIMESTAMP: {T0: 10, T1: 0},
    LATEST_TIMESTAMP: {T0: 100, T1: 50},
    1_000: {T0: 42, T1: -1},
}


class TableAdmin:
    """Two partitions with records 10 to 100 and 0 to 50; one of them has a commit."""

    committed: dict[TopicPartition, OffsetAndMetadata | None] = {T0: OffsetAndMetadata(60), T1: None}

    async def list_offsets(self, timestamps, *, timeout=None):
        return Results({tp: ListedOffset(OFFSETS[at][tp]) for tp, at in timestamps.items()})

    async def list_consumer_group_offsets(self, group, *, timeout=None):
        return Results(self.committed)

    async def describe_topics(self, topics, *, timeout=None):
        if "gone" in topics:
            return Results({"gone": KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)})
        two = [SimpleNamespace(partition=number) for number in (0, 1)]
        return Results({topic: SimpleNamespace(partitions=two) for topic in topics})


LOOK = OffsetLookup(TableAdmin())  # type: ignore[arg-type]


def reset(scenario, *partitions, **needs):
    return asyncio.run(new_offsets(LOOK, "g", GroupReset(scenario, **needs), partitions or (T0, T1)))


@pytest.mark.parametrize(
    ("scenario", "needs", "new"),
    [
        (ResetScenario.TO_EARLIEST, {}, {T0: 10, T1: 0}),
        (ResetScenario.TO_LATEST, {}, {T0: 100, T1: 50}),
        (ResetScenario.TO_CURRENT, {}, {T0: 60, T1: 50}),
        (ResetScenario.TO_OFFSET, {"offset": 5}, {T0: 10, T1: 5}),
        (ResetScenario.TO_OFFSET, {"offset": 99}, {T0: 99, T1: 50}),
        (ResetScenario.TO_DATETIME, {"timestamp": 1_000}, {T0: 42, T1: 50}),
        (ResetScenario.BY_DURATION, {"timestamp": 1_000}, {T0: 42, T1: 50}),
        (ResetScenario.FROM_FILE, {"plan": {T0: 500}}, {T0: 100}),
    ],
)
def test_each_scenario_has_its_offsets(scenario, needs, new):
    assert reset(scenario, **needs) == new


def test_a_shift_counts_from_the_commit_and_stays_within_the_log():
    assert reset(ResetScenario.SHIFT_BY, T0, offset=-7) == {T0: 53}
    assert reset(ResetScenario.SHIFT_BY, T0, offset=-700) == {T0: 10}
    assert reset(ResetScenario.SHIFT_BY, T0, offset=700) == {T0: 100}


def test_a_shift_needs_a_commit():
    with pytest.raises(NothingCommitted, match="t-1"):
        reset(ResetScenario.SHIFT_BY, T1, offset=1)


def test_every_scenario_is_served():
    for scenario in ResetScenario:
        assert reset(scenario, T0, plan={T0: 1}).keys() == {T0}


def test_the_partitions_of_topics_are_looked_up_and_a_missing_topic_is_an_error():
    assert asyncio.run(LOOK.partitions(["t"])) == [T0, T1]
    with pytest.raises(KafkaError):
        asyncio.run(LOOK.partitions(["gone"]))


@pytest.mark.parametrize(("offset", "kept"), [(-5, 3), (3, 3), (5, 5), (9, 9), (10, 9)])
def test_an_offset_is_kept_within_the_log(offset, kept):
    assert kept_within(T0, offset, 3, 9) == kept
