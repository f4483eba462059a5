"""Message sets of formats 0 and 1 on their way into the log: order, offsets, metrics."""

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.log.validation.format_work import FormatWork
from kafka_py.records.batch import decode_records, iter_headers
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.legacy_builder import LegacyBuilder
from kafka_py.records.legacy_records import read_records
from kafka_py.testing.fakes.stored_logs import batch

from .test_append_lines import T0, T1, World

NONE = ErrorCode.NONE
FEW, MANY = 3, 2000
"""Records of a set that is worked on on the event loop, and of one that is not."""


def old(count=FEW, codec=Codec.NONE, magic=1):
    builder = LegacyBuilder(magic, codec)
    for number in range(count):
        builder.append(1000 + number, b"k%d" % number, b"value")
    return bytearray(builder.build())


def new(count=FEW, codec=Codec.NONE):
    builder = BatchBuilder(codec)
    for number in range(count):
        builder.append(1000 + number, b"k%d" % number, b"value")
    return bytearray(builder.build())


def records_of(log):
    """(format, offset) of all."""
    found = []
    offset = 0
    while offset < log.log_end_offset:
        data = log.read(offset, 1 << 24, up_to_offset=log.log_end_offset).slice.read()
        for pos, header in iter_headers(data):
            records = decode_records(data, pos) if header.magic == 2 else read_records(data, pos)
            found += [(header.magic, record.offset) for record in records]
        offset = found[-1][1] + 1
    return found


def test_old_and_new_records_are_stored_in_the_format_of_the_topic():
    for version, magic in (("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)):
        world = World(settings={"message.format.version": version})
        world.append((T0, old(magic=0)), (T1, new()))
        world.append((T0, old(codec=Codec.GZIP)))
        world.append((T0, new(codec=Codec.LZ4)))
        world.append((T0, new()))
        assert world.background.jobs == []
        assert world.offsets == [[(NONE, 0), (NONE, 0)], [(NONE, FEW)], [(NONE, 2 * FEW)], [(NONE, 3 * FEW)]]
        assert records_of(world.logs[0]) == [(magic, offset) for offset in range(4 * FEW)]
        assert world.logs[0].epochs.latest == (0 if magic == 2 else -1)


def test_large_sets_are_worked_on_in_a_thread_and_keep_their_order():
    for version, magic in (("0.9.0", 0), ("0.10.2", 1), ("2.8", 2)):
        world = World(settings={"message.format.version": version})
        world.append((T0, old(MANY)))
        world.append((T0, old(FEW)))
        world.append((T0, old(MANY, Codec.GZIP)))
        world.append((T0, new(FEW)))
        assert world.answers == []
        world.background.finish_one()
        assert world.offsets == [[(NONE, 0)], [(NONE, MANY)]]
        world.background.finish_one()
        assert world.offsets[2:] == [[(NONE, MANY + FEW)], [(NONE, 2 * MANY + FEW)]]
        assert records_of(world.logs[0]) == [(magic, offset) for offset in range(2 * MANY + 2 * FEW)]


def test_a_request_with_sets_for_many_partitions_does_not_hold_the_event_loop(monkeypatch):
    world = World(count=10)
    clock = world.replicas.clock
    run = FormatWork.run_on_loop

    def slow(work):
        clock.advance(1)
        return run(work)

    monkeypatch.setattr(FormatWork, "run_on_loop", slow)
    world.append(*((TopicPartition("t", number), old()) for number in range(10)))
    assert [log.log_end_offset for log in world.logs] == [FEW] * 3 + [0] * 7
    while world.background.jobs:
        world.background.finish_one()
    assert world.offsets == [[(NONE, 0)] * 10]
    clock.advance(1)
    world.append((T0, old()))
    assert world.offsets[1:] == [[(NONE, FEW)]]


def test_a_set_that_was_numbered_for_another_log_end_is_not_appended():
    """The leader role was lost and regained while a thread was at work: the producer sends it again."""
    world = World(settings={"message.format.version": "0.10.2"})
    world.append((T0, old(MANY)))
    log = world.logs[0]
    log.append_as_leader(memoryview(old()), 0, 1000)
    world.background.finish_one()
    assert world.offsets == [[(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]]
    assert log.log_end_offset == FEW


def test_a_refused_set_lets_those_behind_it_pass():
    world = World(settings={"cleanup.policy": "compact"})
    broken = old(MANY)
    broken[-1] ^= 1
    world.append((T0, broken))
    world.append((T0, old()))
    world.background.finish_one()
    assert world.offsets == [[(ErrorCode.CORRUPT_MESSAGE, -1)], [(NONE, 0)]]


def test_what_was_converted_is_counted():
    world = World(settings={"message.format.version": "2.8"})
    metrics = world.replicas.manager.metrics
    world.append((T0, old(MANY)))
    world.append((T0, batch([b"not converted"])))
    world.append((T0, old(FEW)))
    world.background.finish_one()
    for counted in (metrics.topic("t"), metrics.all_topics):
        assert counted.produce_conversions == MANY + FEW
        assert counted.messages_in == MANY + FEW + 1
    assert metrics.produce_conversions.temporary_memory.read()["Count"] == 2
    assert metrics.produce_conversions.time.read()["Count"] == 2


def test_an_old_set_larger_than_a_segment_is_refused():
    world = World(settings={"message.format.version": "0.10.2", "segment.bytes": 1000})
    world.append((T0, old(FEW)))
    world.append((T0, old(MANY)))
    world.background.finish_one()
    assert world.offsets == [[(NONE, 0)], [(ErrorCode.RECORD_LIST_TOO_LARGE, -1)]]
