"""Fetches of old readers: what they get, how much at once, and in which order fetches are converted."""

import weakref
from pathlib import Path

import pytest

from kafka_py.base.errors import ErrorCode
from kafka_py.base.slices import FileSlice
from kafka_py.records.batch import iter_headers, verify_crc
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType, end_txn_marker
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import read_records
from kafka_py.replication.leader import down_conversions
from kafka_py.replication.leader.down_conversions import AT_ONCE, Converted, DownConversions, OldRead, convert_read
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.fakes.replicas import ReplicaWorld
from kafka_py.testing.fakes.stored_logs import HeldBackground

LIMIT = 1 << 24
COUNT = 200


def new(first=0, count=COUNT, codec=Codec.NONE, value=b"value"):
    builder = BatchBuilder(codec, base_offset=first)
    for number in range(count):
        builder.append(1000 + number, b"key", value)
    return builder.build()


def old(first=0, magic=0):
    builder = LegacyBuilder(magic, base_offset=first)
    builder.append(1000, b"key", b"value")
    return builder.build()


def marker(offset):
    return end_txn_marker(
        ControlType.COMMIT, producer_id=1, producer_epoch=0, coordinator_epoch=0, timestamp=5, base_offset=offset
    )


class Stored:
    """Batches in a file, behind some other bytes. room: how much more than they the reader's limit allows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0

    def __call__(self, *batches: bytes, magic=1, first_offset=0, size=None, room=1 << 20, limit=LIMIT) -> OldRead:
        self._number += 1
        path = self._path / str(self._number)
        data = b"".join(batches)
        path.write_bytes(b"before" + data)
        records = FileSlice(path.open("rb"), 6, len(data) + room if size is None else size)
        return OldRead("t", records, magic, first_offset, limit)


@pytest.fixture
def stored(tmp_path):
    return Stored(tmp_path)


def converted(read: OldRead, room=1 << 20) -> Converted:
    return convert_read(read, room, lambda: None)


def offsets(made: Converted) -> list[int]:
    found = []
    for pos, header in iter_headers(made.data):
        verify_crc(made.data, pos, header)
        assert header.magic < 2
        found += [record.offset for record in read_records(made.data, pos)]
    return found


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_all_whole_batches_are_converted(stored, magic, codec):
    made = converted(stored(old(0), new(1, codec=codec), new(1 + COUNT, codec=codec)[:-1], magic=magic))
    assert offsets(made) == list(range(COUNT + 1))
    assert (made.record_count, made.error) == (COUNT, ErrorCode.NONE)


def test_batches_larger_than_what_is_read_at_once(stored):
    value = bytes(1000)
    made = converted(stored(new(0, 500, value=value), new(500, 500, value=value)), room=1 << 30)
    assert offsets(made) == list(range(1000))


def test_no_more_than_fits_but_at_least_one_batch(stored):
    batches = [new(place * COUNT, codec=Codec.GZIP) for place in range(5)]
    one = converted(stored(*batches), room=1)
    assert offsets(one) == list(range(COUNT))
    two = converted(stored(*batches), room=2 * len(one.data) + 50)
    assert offsets(two) == list(range(2 * COUNT))
    # The reader's own limit is what the log was read by; the old form may be larger.
    assert 0 < len(converted(stored(new(0, 5000), room=0)).data) <= len(new(0, 5000))


def test_a_first_batch_that_is_larger_than_the_limit_shows_as_a_partial_message(stored):
    """From version 0 to 2 clients find out so that their limit is too small."""
    made = converted(stored(new(), size=100))
    assert made.data[:8] == b"\xff" * 8
    assert int.from_bytes(made.data[8:12], "big") > len(made.data) == 12
    assert list(iter_headers(made.data)) == []


def test_a_batch_behind_the_first_that_is_larger_than_the_limit_is_left_out(stored):
    read = stored(new(), new(COUNT), size=len(new()) + 100)
    assert offsets(converted(read)) == list(range(COUNT))


def test_a_marker_is_no_partial_message(stored):
    assert converted(stored(marker(0))) == Converted()
    assert offsets(converted(stored(marker(0), new(1, 1)))) == [1]


def test_zstd_ends_the_data_and_is_an_error_at_the_beginning(stored):
    zstd = new(COUNT, codec=Codec.ZSTD)
    assert offsets(converted(stored(new(), zstd))) == list(range(COUNT))
    assert converted(stored(zstd, new())).error is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_damage_ends_the_data_and_is_an_error_at_the_beginning(stored):
    damaged = new(COUNT, codec=Codec.GZIP)[:-40] + bytes(40)
    assert offsets(converted(stored(new(), damaged))) == list(range(COUNT))
    assert converted(stored(damaged)).error is ErrorCode.CORRUPT_MESSAGE
    assert converted(stored(new(codec=Codec.GZIP), limit=100)).error is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("batch", [new(COUNT), old(COUNT, magic=1)], ids=["batch", "entry"])
def test_damage_that_only_the_checksum_shows_is_not_converted(stored, batch):
    """New entries would have sound checksums, and the reader would take the changed value for what was written."""
    damaged = bytearray(batch)
    damaged[-2] ^= 1
    assert offsets(converted(stored(new(), damaged, magic=0))) == list(range(COUNT))
    assert converted(stored(damaged, magic=0)).error is ErrorCode.CORRUPT_MESSAGE


def test_a_file_that_was_cut_ends_the_data(stored):
    assert offsets(converted(stored(new(), new(COUNT)[:-1]))) == list(range(COUNT))
    assert converted(stored(new()[:-1])) == converted(stored(new()[:10])) == Converted()


class Conversions:
    def __init__(self) -> None:
        self.background = HeldBackground()
        self.replicas = ReplicaWorld(self.background)
        self.metrics = self.replicas.manager.metrics
        self.all = DownConversions(
            self.background, self.replicas.clock, self.metrics, pause=lambda: None
        )
        self.answers = []

    def convert(self, *reads, **more):
        self.all.convert(list(reads), self.answers.append, **more)


def test_few_fetches_are_converted_at_once(stored):
    world = Conversions()
    for number in range(AT_ONCE + 2):
        world.convert(stored(new(number)))
    assert len(world.background.jobs) == AT_ONCE
    for _ in range(AT_ONCE + 2):
        world.background.finish_one()
    assert [offsets(made)[0] for [made] in world.answers] == list(range(AT_ONCE + 2))


class TickingClock(ManualClock):
    """Every look at it takes a tenth of a millisecond."""

    def monotonic_ms(self) -> float:
        self.advance(0.1)
        return super().monotonic_ms()


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("magic", [0, 1])
def test_a_thread_pauses_by_the_time_that_has_passed(stored, magic, is_old):
    """Not for every batch: then a megabyte of small ones would take seconds. Also where nothing is converted."""
    world, pauses = Conversions(), []
    conversions = DownConversions(
        world.background, TickingClock(), world.metrics, pause=lambda: pauses.append(1)
    )
    batches = [old(number, magic=1) if is_old else new(number, 1) for number in range(COUNT)]
    conversions.convert([stored(*batches, magic=magic)], world.answers.append)
    world.background.finish_one()
    assert offsets(world.answers[0][0]) == list(range(COUNT))
    assert COUNT // 20 <= len(pauses) <= COUNT // 4


def test_what_was_converted_is_counted(stored):
    world = Conversions()
    world.convert(stored(new()), stored(old()))
    world.background.finish_one()
    assert world.metrics.topic("t").fetch_conversions == world.metrics.all_topics.fetch_conversions == COUNT
    assert world.metrics.fetch_conversions.temporary_memory.read()["Count"] == 1


def test_a_response_is_bounded_and_no_partition_is_always_last(stored, monkeypatch):
    monkeypatch.setattr(down_conversions, "RESPONSE_BYTES", 1000)
    world = Conversions()
    served = set()
    for _ in range(3):
        world.convert(stored(new()), stored(new()), stored(new()))
        world.background.finish_one()
        lengths = [len(made.data) for made in world.answers[-1]]
        assert lengths.count(0) == 2
        served.add(lengths.index(max(lengths)))
    assert served == {0, 1, 2}


def test_responses_are_smaller_when_many_wait(stored, monkeypatch):
    monkeypatch.setattr(down_conversions, "ALL_WAITING_BYTES", 40_000)
    monkeypatch.setattr(down_conversions, "LEAST_RESPONSE_BYTES", 10_000)
    world = Conversions()
    batches = [new(place * COUNT) for place in range(10)]
    for _ in range(AT_ONCE + 4):
        world.convert(stored(*batches))
    for _ in range(AT_ONCE + 4):
        world.background.finish_one()
    sizes = [len(made.data) for [made] in world.answers]
    assert sizes[0] > 2 * sizes[2]
    assert sizes[2] == sizes[1 + AT_ONCE] > 5000


def test_responses_are_smaller_while_many_wait_for_slow_clients(stored, monkeypatch):
    monkeypatch.setattr(down_conversions, "RESPONSE_BYTES", 20_000)
    monkeypatch.setattr(down_conversions, "ALL_UNSENT_BYTES", 60_000)
    monkeypatch.setattr(down_conversions, "LEAST_RESPONSE_BYTES", 10_000)
    world = Conversions()
    slow = dict.fromkeys(range(6), True)
    sizes = []

    def convert_next(is_unsent):
        world.convert(stored(*[new(place * COUNT, count=50) for place in range(40)]), is_unsent=is_unsent)
        world.background.finish_one()
        [made] = world.answers[-1]
        sizes.append(len(made.data))

    for number in slow:
        convert_next(lambda number=number: slow[number])
    assert sizes[0] == sizes[1] == sizes[2] > 15_000
    assert max(sizes[3:]) <= 10_000
    for number in slow:
        slow[number] = False
    convert_next(lambda: True)
    assert sizes[-1] == sizes[0]


@pytest.mark.parametrize("is_empty", [False, True])
def test_small_and_empty_responses_that_have_left_are_forgotten(stored, is_empty):
    """With the connections that they went to."""

    class Reader:
        def has_unsent(self):
            return False

    world = Conversions()
    readers = []
    read = stored(new(count=1))
    for _ in range(500):
        reader = Reader()
        world.convert(read, is_wanted=lambda: not is_empty, is_unsent=reader.has_unsent)
        world.background.finish_one()
        readers.append(weakref.ref(reader))
    del reader
    assert sum(each() is not None for each in readers) <= 100


def test_very_many_slow_clients_are_not_all_asked_for_every_response(stored):
    world = Conversions()
    asked = 0

    def is_unsent():
        nonlocal asked
        asked += 1
        return True

    read = stored(new(count=1))
    for _ in range(1000):
        world.convert(read, is_unsent=is_unsent)
        world.background.finish_one()
    assert asked < 2000


def test_nothing_is_converted_for_a_client_that_is_gone(stored):
    world = Conversions()
    world.convert(stored(new()), is_wanted=lambda: False)
    world.background.finish_one()
    assert world.answers == [[Converted()]]


def test_an_unforeseen_error_is_answered(stored, monkeypatch):
    world = Conversions()
    monkeypatch.setattr(down_conversions, "convert_read", lambda *_: 1 / 0)
    world.convert(stored(new()))
    world.background.finish_one()
    assert world.answers == [[Converted(error=ErrorCode.UNKNOWN_SERVER_ERROR)]]
