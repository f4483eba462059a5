"""Logs that move to another log directory of the broker."""

import errno

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.fakes.stored_logs import batch

from .broker_logs import Broker


def moving(broker):
    """A log in /a with one that is to replace it in /b."""
    partition = TopicPartition("t", 0)
    broker.dirs.prefer(partition, "/a")
    broker.append()
    return partition, broker.dirs.futures.create(partition, "/b")


def test_a_second_future_replica_is_not_made_while_a_directory_is_offline():
    """The offline directory may hold one already: with two of them the broker would not start."""
    broker = Broker("/a", "/b", "/c")
    partition, _ = moving(broker)
    broker.dirs._io_failed("/b", OSError(errno.EIO, "disk"))
    assert broker.dirs.futures.get(partition) is None
    with pytest.raises(KafkaError, match="/b") as caught:
        broker.dirs.futures.create(partition, "/c")
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    broker.restart()
    assert broker.dirs.futures.get(partition).log_dir == "/b"


def test_a_future_log_that_cannot_be_dropped_is_lost_with_its_directory():
    broker = Broker("/a", "/b")
    partition, _ = moving(broker)
    broker.files.fail("rename", errno.EIO, path="/b/t-0")
    with pytest.raises(KafkaError):
        broker.dirs.futures.drop(partition)
    broker.clock.advance(0)
    assert broker.failures == [("/b", [partition])]
    assert broker.dirs.futures.get(partition) is None and broker.dirs.get(partition) is not None


def test_a_move_that_cannot_be_ended_leaves_the_present_log_in_use():
    broker = Broker("/a", "/b")
    partition, _ = moving(broker)
    broker.files.fail("rename", errno.EIO, path="/b/t-0")
    with pytest.raises(KafkaError):
        broker.dirs.futures.promote(partition)
    broker.clock.advance(0)
    assert broker.failures == [("/b", [partition])]
    assert broker.append().log_end_offset == 2
    assert [bean.mbean for bean in broker.registry.read() if "is-future" in bean.mbean] == []


def test_a_move_counts_though_the_former_directory_fails_at_its_end():
    broker = Broker("/a", "/b")
    partition, future = moving(broker)
    present = broker.dirs.get(partition)
    broker.files.fail("rename", errno.EIO, path="/a/t-0")
    assert broker.dirs.futures.promote(partition) is future
    broker.clock.advance(0)
    assert broker.failures == [("/a", [])]
    assert broker.dirs.get(partition) is future
    with pytest.raises(KafkaError):
        present.append_as_leader(batch(), 0, 0)


def test_a_log_that_takes_over_knows_what_is_committed():
    broker = Broker("/a", "/b")
    partition, future = moving(broker)
    future.append_as_follower(batch(leader_epoch=0), broker.clock.wall_ms())
    broker.dirs.get(partition).update_high_watermark(1)
    assert future.high_watermark == 0
    assert broker.dirs.futures.promote(partition).high_watermark == 1


def test_a_log_that_takes_over_is_clean_as_far_as_the_log_that_it_replaces():
    """The present log may be truncated during the copy; records appended after that are not compacted yet."""
    broker = Broker("/a", "/b", **{"log.segment.bytes": "400"})
    partition = TopicPartition("t", 0)
    broker.dirs.prefer(partition, "/a")
    present = broker.append(count=6)
    present.compaction.cleaned_to = present.segments[-1].base_offset
    future = broker.dirs.futures.create(partition, "/b")
    before = present.compaction.cleaned_to
    present.truncate_to(2)
    assert present.compaction.cleaned_to < before
    for offset in range(2):
        future.append_as_follower(batch(base_offset=offset, leader_epoch=0), broker.clock.wall_ms())
    promoted = broker.dirs.futures.promote(partition)
    assert promoted.compaction.cleaned_to == min(present.compaction.cleaned_to, promoted.segments[-1].base_offset)
