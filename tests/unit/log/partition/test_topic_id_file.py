"""The topic id of a log's directory is on disk before its records."""

import errno
import uuid

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.testing.fakes.stored_logs import HeldBackground, batch

from ..broker_logs import Broker


def test_topic_ids_are_kept_and_compared():
    broker = Broker()
    first, second = uuid.UUID(int=1), uuid.UUID(int=2)
    tp = TopicPartition("t", 0)
    broker.dirs.get_or_create(tp, topic_id=first)
    assert broker.text("/logs/t-0/partition.metadata").startswith("version: 0\ntopic_id: ")
    broker.crash()
    assert broker.dirs.get_or_create(tp, topic_id=first).topic_id == first
    with pytest.raises(KafkaError) as caught:
        broker.dirs.get_or_create(tp, topic_id=second)
    assert caught.value.code is ErrorCode.INCONSISTENT_TOPIC_ID
    assert broker.dirs.get_or_create(tp, topic_id=uuid.UUID(int=0)).topic_id == first


def test_the_topic_id_is_on_disk_before_the_first_record():
    broker = Broker()
    background = broker.dirs._background = broker.dirs._dirs["/logs"].context.background = HeldBackground()
    log = broker.dirs.get_or_create(TopicPartition("t", 0), topic_id=uuid.UUID(int=1))
    assert not broker.files.exists("/logs/t-0/partition.metadata")
    broker.append()
    assert broker.text("/logs/t-0/partition.metadata").endswith("AAAAAAAAAAAAAAAAAAAAAQ")
    background.run_all()
    broker.crash()
    assert broker.dirs.get(TopicPartition("t", 0)).topic_id == uuid.UUID(int=1)
    assert log.log_end_offset == 1


def test_the_same_holds_for_a_follower_and_for_an_id_that_comes_later():
    broker = Broker()
    log = broker.append()
    broker.dirs._background = broker.dirs._dirs["/logs"].context.background = HeldBackground()
    assert broker.dirs.get_or_create(TopicPartition("t", 0), topic_id=uuid.UUID(int=1)) is log
    log.append_as_follower(batch([b"x"], base_offset=1, leader_epoch=0), 0)
    assert broker.text("/logs/t-0/partition.metadata").endswith("AAAAAAAAAAAAAAAAAAAAAQ")


def test_without_its_topic_id_on_disk_nothing_is_appended():
    broker = Broker()
    broker.dirs._background = broker.dirs._dirs["/logs"].context.background = HeldBackground()
    log = broker.dirs.get_or_create(TopicPartition("t", 0), topic_id=uuid.UUID(int=1))
    broker.files.fail("open", errno.EMFILE, path="partition.metadata")
    with pytest.raises(KafkaError):
        broker.append()
    assert log.log_end_offset == 0 and broker.dirs.offline_directories == []
    broker.append()
    assert broker.files.exists("/logs/t-0/partition.metadata")
