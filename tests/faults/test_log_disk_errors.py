"""A disk that fills up or fails: nothing half-done is acknowledged, and the directory goes offline."""

import errno

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.log.partition.retention import delete_old_segments
from kafka_py.testing.fakes.files import Loss
from kafka_py.testing.fakes.stored_logs import LogWorld, batch


def refused(call):
    with pytest.raises(KafkaError) as caught:
        call()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR


def offsets(world):
    return [record.offset for record in world.read_all()]


@pytest.mark.parametrize("partial", [0, 1, 60, 100, 169])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_failed_append_leaves_no_trace(error, partial):
    world = LogWorld()
    world.append_many(3)
    world.files.fail("write", error, path=".log", partial=partial)
    refused(lambda: world.append(batch([b"x" * 100])))
    assert [failure.errno for failure in world.failures] == [error]
    assert len(world.data("00000000000000000000.log")) == 3 * 170
    refused(world.append)
    refused(lambda: world.log.read(0, 100, up_to_offset=3))
    world.crash(Loss.NOTHING)
    assert offsets(world) == [0, 1, 2]
    world.append()


def test_a_failed_append_that_cannot_be_taken_back_is_cut_by_recovery():
    world = LogWorld()
    world.append_many(3)
    world.files.fail("write", errno.EIO, path=".log", partial=100)
    world.files.fail("truncate", errno.EIO, path=".log")
    refused(lambda: world.append(batch([b"x" * 100])))
    assert len(world.data("00000000000000000000.log")) == 3 * 170 + 100
    world.crash(Loss.NOTHING)
    assert offsets(world) == [0, 1, 2]


def test_a_full_disk_is_reported_once_and_the_log_stays_closed():
    world = LogWorld()
    world.append_many(3)
    world.files.capacity_bytes = sum(len(world.data(name)) for name in world.names(".log")) + 2500
    with pytest.raises(KafkaError):
        for _ in range(100):
            world.append(batch([b"x" * 100]))
    end = world.log.log_end_offset
    for _ in range(3):
        refused(world.append)
    assert len(world.failures) == 1
    world.files.heal()
    world.crash(Loss.NOTHING)
    assert offsets(world) == list(range(end))


def test_an_index_that_cannot_be_written_fails_the_append_and_recovery_rebuilds_it():
    world = LogWorld()
    world.append_many(2)
    world.files.fail("write", errno.EIO, path=".index")
    refused(lambda: world.append(batch([b"x" * 100])))
    assert len(world.data("00000000000000000000.log")) == 2 * 170
    world.crash(Loss.NOTHING)
    assert offsets(world) == [0, 1]


def test_a_failed_flush_does_not_raise_the_recovery_point():
    world = LogWorld()
    world.append_many(3)
    world.files.fail("sync", errno.EIO)
    refused(world.log.flushing.now)
    assert world.log.recovery_point == 0
    assert len(world.failures) == 1


def test_a_failed_background_flush_takes_the_directory_offline():
    world = LogWorld({"segment.bytes": 500})
    world.append_many(2)
    world.files.fail("sync", errno.EIO, path=".log")
    world.append(batch([b"x" * 100]))  # rolls; the flush behind it fails
    assert world.log.recovery_point == 0
    assert len(world.failures) == 1
    refused(world.append)


def test_a_failed_roll_is_a_storage_error_and_nothing_is_lost():
    world = LogWorld({"segment.bytes": 500})
    world.append_many(2)
    world.files.fail("open", errno.EIO, path="00000000000000000002.log")
    refused(lambda: world.append(batch([b"x" * 100])))
    assert len(world.failures) == 1
    world.crash(Loss.NOTHING)
    assert offsets(world) == [0, 1]


@pytest.mark.parametrize("path", ["2.log", "2.index", "2.timeindex", "2.snapshot", "0.index", "0.timeindex"])
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
def test_a_lack_of_descriptors_fails_the_call_and_not_the_directory(error, path):
    world = LogWorld({"segment.bytes": 700})
    expected = 0
    for _ in range(8):
        world.handles.close_idle()
        world.handles.close_idle()
        world.files.fail("open", error, path=path, times=2)
        for _ in range(3):
            try:
                world.append(batch([b"x" * 100], timestamp=1000 + expected))
                expected += 1
            except KafkaError as refusal:
                assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR
        world.files.heal()
    assert world.failures == []
    assert offsets(world) == list(range(expected))
    world.crash(Loss.NOTHING)
    assert offsets(world) == list(range(expected))


def test_a_read_without_a_descriptor_can_be_tried_again():
    world = LogWorld({"segment.bytes": 500})
    world.append_many(5)
    world.handles.close_idle()
    world.handles.close_idle()
    world.files.fail("open", errno.EMFILE)
    refused(lambda: world.log.read(0, 1000, up_to_offset=5))
    assert world.log.read(0, 1000, up_to_offset=5).size == 340
    assert world.failures == []


def test_a_failed_read_takes_the_directory_offline():
    world = LogWorld()
    world.append_many(5)
    world.files.fail("read", errno.EIO, path=".log")
    refused(lambda: world.log.read(2, 1000, up_to_offset=5))
    assert len(world.failures) == 1


def test_an_epoch_that_cannot_be_written_takes_the_directory_offline():
    world = LogWorld()
    world.files.fail("open", errno.EROFS, path="leader-epoch-checkpoint")
    world.log.assign_epoch(0, 0)
    assert len(world.failures) == 1


def test_failures_of_a_deleted_log_concern_nobody():
    world = LogWorld()
    world.append_many(3)
    job = world.log.flushing.job()
    world.log.files.move("/logs/t-0.0123456789abcdef0123456789abcdef-delete")
    world.log.failures.disable("deleted")
    job.run()
    world.log.failures.in_background(FileNotFoundError("gone"))
    assert world.failures == []


def test_retention_that_cannot_rename_takes_the_directory_offline():
    world = LogWorld({"segment.bytes": 500, "retention.bytes": 0, "retention.ms": -1})
    world.append_many(5)
    world.log.update_high_watermark(5)
    world.files.fail("rename", errno.EIO)
    refused(lambda: delete_old_segments(world.log, 0))
    assert len(world.failures) == 1
