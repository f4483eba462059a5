"""partition.metadata: the topic id of a directory."""

import uuid

import pytest

from kafka_py.base.ids import ZERO_UUID, uuid_to_text
from kafka_py.log.disk.files import write_atomically
from kafka_py.log.state.partition_metadata import CorruptPartitionMetadata, format_topic_id, read_topic_id
from kafka_py.testing.fakes.files import FakeFiles

TOPIC_ID = uuid.UUID("0123456789abcdeffedcba9876543210")


def test_the_file_has_two_lines_and_no_newline_at_the_end():
    files = FakeFiles()
    assert read_topic_id(files, "/m") is None
    write_atomically(files, "/m", format_topic_id(TOPIC_ID))
    assert files.read_bytes("/m") == b"version: 0\ntopic_id: ASNFZ4mrze_-3LqYdlQyEA"
    assert read_topic_id(files, "/m") == TOPIC_ID


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: 1\ntopic_id: ASNFZ4mrze_-3LqYdlQyEA",
        "version: 0\ntopic_id: short",
        f"version: 0\ntopic_id: {uuid_to_text(ZERO_UUID)}",
        "version: 0",
        "no colon\nat all",
    ],
)
def test_anything_else_is_an_io_error(text):
    files = FakeFiles()
    write_atomically(files, "/m", text.encode())
    with pytest.raises(CorruptPartitionMetadata) as caught:
        read_topic_id(files, "/m")
    assert isinstance(caught.value, OSError)
