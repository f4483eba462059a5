"""The collector looks at new objects in small pieces, also while many old ones are freed."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from kafka_py.base.garbage import COLLECT_AFTER, Freed
from kafka_py.base.turns import release
from kafka_py.cli.server_start import GARBAGE_THRESHOLDS
from kafka_py.wire.dismantling import STEP_VALUES, dismantle
from kafka_py.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

OBJECTS = 50_000
MOST_NEW = 2 * (GARBAGE_THRESHOLDS[0] + COLLECT_AFTER)


@pytest.fixture(autouse=True)
def _collector_of_a_broker() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def not_old() -> int:
    return sum(len(gc.get_objects(generation)) for generation in (0, 1))


def test_the_collector_is_asked_after_so_many_elements() -> None:
    asked: list[int] = []
    freed = Freed(asked.append)
    for _ in range(2 * COLLECT_AFTER // 256):
        freed.add(256)
    assert asked == [1, 1]


def test_what_is_made_while_a_large_message_is_freed_does_not_pile_up() -> None:
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=0) for index in range(OBJECTS)]
    old = [ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=partitions)])]
    del partitions
    gc.collect()
    made: list[list[int]] = []
    most = 0
    for step, _ in enumerate(dismantle(old)):
        made += [[number] for number in range(STEP_VALUES)]
        if step % 10 == 0:
            most = max(most, not_old())
    assert len(made) >= OBJECTS
    assert 0 < most < MOST_NEW


def test_what_is_made_while_a_list_is_emptied_in_turns_does_not_pile_up() -> None:
    async def scenario() -> None:
        old = [[number] for number in range(OBJECTS)]
        gc.collect()
        made: list[list[int]] = []
        most = 0
        releasing = asyncio.ensure_future(release(old))
        while not releasing.done():
            made += [[number] for number in range(256)]
            most = max(most, not_old())
            await asyncio.sleep(0)
        assert len(made) >= OBJECTS
        assert 0 < most < MOST_NEW

    asyncio.run(scenario())
