"""Logs that are deleted: renamed at once, removed later."""

import errno

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.fakes.stored_logs import batch

from .broker_logs import Broker


def test_deleting_renames_at_once_and_removes_later():
    broker = Broker()
    log = broker.append(count=3)
    broker.dirs.delete(TopicPartition("t", 0))
    names = [entry.name for entry in broker.files.list("/logs") if entry.is_directory]
    assert len(names) == 1
    assert names[0].startswith("t-0.")
    assert names[0].endswith("-delete")
    with pytest.raises(KafkaError):
        log.append_as_leader(batch(), 0, 0)
    assert broker.append().log_end_offset == 1  # a new log of that name
    broker.clock.advance(60_000)
    assert [entry.name for entry in broker.files.list("/logs") if entry.is_directory] == ["t-0"]
    broker.dirs.delete(TopicPartition("never", 0))


def test_directories_marked_for_deletion_are_removed_after_a_start():
    broker = Broker()
    broker.append()
    broker.dirs.delete(TopicPartition("t", 0))
    broker.crash()
    assert broker.dirs.get(TopicPartition("t", 0)) is None
    broker.dirs.start_tasks()
    broker.clock.advance(60_000)
    assert not [entry for entry in broker.files.list("/logs") if entry.is_directory]


def test_a_log_that_cannot_be_deleted_is_lost_with_its_directory():
    broker = Broker("/a", "/b")
    broker.dirs.prefer(TopicPartition("t", 0), "/a")
    log = broker.append()
    broker.files.fail("rename", errno.EIO, path="/a/t-0")
    with pytest.raises(KafkaError) as caught:
        broker.dirs.delete(TopicPartition("t", 0))
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    broker.clock.advance(0)
    assert broker.failures == [("/a", [TopicPartition("t", 0)])]
    assert broker.dirs.get(TopicPartition("t", 0)) is None
    with pytest.raises(KafkaError):
        log.append_as_leader(batch(), 0, 0)
