"""Look-ups (W5.22, W5.23, W5.26) through a whole log: segment, index, scan.

What the indexes themselves answer to these entries is in test_offset_index.py and test_time_index.py.
"""

import pytest

from kafka_py.testing.fakes.stored_logs import LogWorld, batch, offset_for_timestamp, records_of, slice_bytes

BASE_TIME = 1_526_384_718_000
SIZE = len(batch([b"x" * 100]))


@pytest.fixture
def world() -> LogWorld:
    """Segments at 0, 133 and 251 with 30 messages in the last; an index entry for about every third message."""
    world = LogWorld()
    for bases in ((0, 133), (133, 251), (251, 281)):
        for offset in range(*bases):
            world.append(batch([b"x" * 100], timestamp=BASE_TIME + 10 * offset))
        if bases[1] < 281:
            world.log.roll(0)
    return world


@pytest.mark.parametrize(
    ("offset", "base"),
    [pytest.param(23, 0, id="W5.22"), pytest.param(268, 251, id="W5.23"), (0, 0), (132, 0), (133, 133), (280, 251)],
)
def test_w5_22_and_w5_23_a_read_begins_at_the_message_asked_for(world: LogWorld, offset: int, base: int) -> None:
    """The segment by its base offset, the floor entry of its index, then a scan to the message."""
    data = world.log.read(offset, SIZE, up_to_offset=281, min_one_batch=True).slice
    assert [record.offset for record in records_of(slice_bytes(data))] == [offset]
    assert data is not None
    assert data.position == (offset - base) * SIZE
    [segment] = [each for each in world.log.segments if each.base_offset == base]
    floor = segment.offset_index.lookup(offset)
    assert floor.offset <= offset
    assert offset - floor.offset <= 3


@pytest.mark.parametrize(
    ("timestamp", "offset"),
    [(BASE_TIME + 288, 29), (BASE_TIME + 280, 28), (BASE_TIME, 0), (BASE_TIME + 2_675, 268), (BASE_TIME + 2_800, 280)],
)
def test_w5_26_the_first_message_at_or_after_a_time_is_found(world: LogWorld, timestamp: int, offset: int) -> None:
    """W5.26: a time between two messages leads to the later one, by way of both indexes."""
    found = offset_for_timestamp(world.log, timestamp)
    assert found is not None
    assert (found.offset, found.timestamp) == (offset, BASE_TIME + 10 * offset)


def test_w5_26_no_message_is_late_enough(world: LogWorld) -> None:
    assert offset_for_timestamp(world.log, BASE_TIME + 2_801) is None
