"""Names of files and directories, written and parsed."""

import uuid

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk import filenames
from kafka_py.log.disk.filenames import PartitionName, SegmentFileName

UNIQUE = uuid.UUID("0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize(
    ("base", "suffix", "name"),
    [
        (0, filenames.LOG, "00000000000000000000.log"),
        (32, filenames.LOG, "00000000000000000032.log"),  # W5.21
        (133, filenames.OFFSET_INDEX, "00000000000000000133.index"),  # W5.1
        (251, filenames.TIME_INDEX, "00000000000000000251.timeindex"),
        (9, filenames.TXN_INDEX, "00000000000000000009.txnindex"),
        (9223372036854775807, filenames.SNAPSHOT, "09223372036854775807.snapshot"),
    ],
)
def test_segment_files_have_twenty_digits_and_a_suffix(base, suffix, name):
    assert filenames.segment_file(base, suffix) == name
    assert filenames.parse_segment_file(name) == SegmentFileName(base, suffix, "")
    for state in (filenames.DELETED, filenames.CLEANED, filenames.SWAP):
        assert filenames.parse_segment_file(name + state) == SegmentFileName(base, suffix, state)


@pytest.mark.parametrize("name", ["leader-epoch-checkpoint", "x.log", "0.logs", ".log", "00.log.tmp", "١.log"])
def test_other_files_are_no_segment_files(name):
    assert filenames.parse_segment_file(name) is None


def test_partition_directories_are_parsed_from_the_last_dash():
    tp = TopicPartition("a-b.c", 12)
    assert filenames.partition_directory(tp) == "a-b.c-12"
    assert filenames.parse_partition_directory("a-b.c-12") == PartitionName(tp)
    deleted = filenames.delete_directory(tp, UNIQUE)
    assert deleted == "a-b.c-12.0123456789abcdef0123456789abcdef-delete"
    assert filenames.parse_partition_directory(deleted) == PartitionName(tp, is_delete=True)
    future = filenames.future_directory(tp, UNIQUE)
    assert filenames.parse_partition_directory(future) == PartitionName(tp, is_future=True)


def test_a_long_topic_is_cut_for_the_delete_directory():
    name = filenames.delete_directory(TopicPartition("t" * 249, 1000), UNIQUE)
    assert len(name) == 255
    assert filenames.parse_partition_directory(name).topic_partition.partition == 1000


@pytest.mark.parametrize(
    "name", ["lost+found", "topic", "topic-", "-1", "topic-x", "topic-1-delete", "topic-1.ab-future"]
)
def test_other_directories_are_refused(name):
    with pytest.raises(ValueError, match=r"topic-partition|form"):
        filenames.parse_partition_directory(name)
