"""Finding a batch by its offset: with the index or without, among small batches and large ones."""

import random

import pytest

from kafka_py.log.segments.scanning import BATCH_START, Bounds, NoBatchThere, find_batch, iter_file_headers
from kafka_py.records.batch import CorruptBatch
from kafka_py.testing.fakes.stored_logs import LogWorld, batch

SETTINGS = {"segment.index.bytes": 12_000, "index.interval.bytes": 4096}


def places(segment):
    """(position, size, first offset, last offset) of every batch."""
    return [
        (position, header.size_bytes, header.base_offset, header.last_offset)
        for position, header in iter_file_headers(segment.file(), 0, segment.size)
    ]


def one_by_one(world, sizes):
    for size in sizes:
        world.append(batch([b"x" * size] * random.randrange(1, 4)))


def as_a_follower(world, sizes):
    """Some batches at a time, of which the index only knows the first one's place."""
    sizes = list(sizes)
    while sizes:
        count = random.randrange(1, 12)
        data = b""
        for number, size in enumerate(sizes[:count]):
            base_offset = world.log.log_end_offset + 2 * number
            data += bytes(batch([b"x" * size, b"y"], base_offset=base_offset, leader_epoch=0))
        world.log.append_as_follower(memoryview(bytearray(data)), world.clock.wall_ms())
        del sizes[:count]


@pytest.mark.parametrize("write", [one_by_one, as_a_follower])
@pytest.mark.parametrize("sizes", [(10, 200), (9_000, 40_000), (10, 200, 9_000, 40_000)])
def test_every_offset_is_found_whatever_the_sizes(write, sizes):
    random.seed(str((write.__name__, sizes)))
    world = LogWorld(SETTINGS)
    write(world, [random.choice(sizes) for _ in range(120)])
    segment = world.log.segments[0]
    for place in places(segment):
        for offset in {place[2], place[3]}:
            assert segment.find(offset) == place
    assert segment.find(world.log.log_end_offset) is None


class CountedFile:
    """A file that keeps the sizes of its reads."""

    def __init__(self, file):
        self._file = file
        self.sizes = []

    def read(self, size, position):
        self.sizes.append(size)
        return self._file.read(size, position)


def test_a_large_batch_is_found_by_reading_its_start_alone(monkeypatch):
    world = LogWorld(SETTINGS)
    for _ in range(5):
        world.append(batch([b"x" * 20_000, b"y"]))
    segment = world.log.segments[0]
    expected = places(segment)[3]
    counted = CountedFile(segment.file())
    monkeypatch.setattr(type(segment), "file", lambda self: counted)
    assert segment.find(6) == expected
    assert counted.sizes == [BATCH_START]


def test_a_place_where_no_batch_begins_is_refused():
    world = LogWorld()
    for _ in range(3):
        world.append(batch([b"x" * 50]))
    segment = world.log.segments[0]
    file = segment.file()
    second = places(segment)[1][0]
    assert find_batch(file, second, segment.size, 2, begins_within=Bounds(0, 1)).base_offset == 2
    for position, bounds in ((second + 1, (0, 9)), (second, (0, 0)), (second, (2, 9)), (-5, (0, 9)), (10**6, (0, 9))):
        with pytest.raises(NoBatchThere):
            find_batch(file, position, segment.size, 2, begins_within=Bounds(*bounds))


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_an_impossible_size_is_corruption(size):
    """Also one beyond the end: without an error a reader would go on in the next segment."""
    world = LogWorld()
    for _ in range(3):
        world.append(batch([b"x" * 50]))
    segment = world.log.segments[0]
    position = places(segment)[1][0]
    segment.file().write(size.to_bytes(4, "big"), position + 8)
    assert find_batch(segment.file(), 0, segment.size, 0).base_offset == 0
    with pytest.raises(CorruptBatch) as caught:
        find_batch(segment.file(), 0, segment.size, 2)
    assert caught.value.position == position


@pytest.mark.parametrize("left", [5, 40])
def test_a_rest_that_is_no_whole_batch_is_corruption(left):
    world = LogWorld()
    for _ in range(3):
        world.append(batch([b"x" * 50]))
    segment = world.log.segments[0]
    end = places(segment)[2][0] + left
    assert find_batch(segment.file(), 0, end, 1).base_offset == 1
    assert find_batch(segment.file(), 0, segment.size, 9) is None
    with pytest.raises(CorruptBatch):
        find_batch(segment.file(), 0, end, 2)


def test_a_file_that_was_cut_meanwhile_is_corruption():
    world = LogWorld()
    for _ in range(3):
        world.append(batch([b"x" * 50]))
    segment = world.log.segments[0]
    third = places(segment)[2][0]
    segment.file().truncate(third)
    assert find_batch(segment.file(), 0, segment.size, 1).base_offset == 1
    with pytest.raises(CorruptBatch, match="shorter than it was"):
        find_batch(segment.file(), third, segment.size, 2)
