"""Text checkpoints: written as Kafka writes them, read with suspicion."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.files import write_atomically
from kafka_py.log.state.checkpoints import (
    CorruptCheckpoint,
    create_if_missing,
    format_offsets,
    parse_checkpoint,
    read_epochs,
    read_offsets,
)
from kafka_py.testing.fakes.files import FakeFiles


def test_offsets_are_written_as_text_and_read_back():
    offsets = {TopicPartition("a-b", 0): 5, TopicPartition("c", 12): 9223372036854775807}
    data = format_offsets(offsets)
    assert data == b"0\n2\na-b 0 5\nc 12 9223372036854775807\n"
    files = FakeFiles()
    write_atomically(files, "/checkpoint", data)
    assert read_offsets(files, "/checkpoint") == offsets


@pytest.mark.parametrize("data", [b"", b"0\n", b"0\n0\n"])
def test_an_empty_file_has_no_entries(data):
    assert parse_checkpoint(data, "/x", 3) == []


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"1\n0\n", "version"),
        (b"x", "version"),
        (b"0\nmany\n", "not a number"),
        (b"0\n2\nt 0 5\n", "announces 2"),
        (b"0\n1\nt 0 5\nt 1 5\n", "announces 1"),
        (b"0\n1\nt 0\n", "malformed"),
        (b"0\n1\nt 0 5 6\n", "malformed"),
        (b"\xff\xfe\n", "UTF-8"),
        (b"0\n1\nt zero 5\n", "not a number"),
    ],
)
def test_anything_else_is_an_io_error_that_names_the_file(data, reason):
    files = FakeFiles()
    write_atomically(files, "/checkpoint", data)
    with pytest.raises(CorruptCheckpoint, match=reason) as caught:
        read_offsets(files, "/checkpoint")
    assert isinstance(caught.value, OSError)
    assert caught.value.filename == "/checkpoint"


@pytest.mark.parametrize("row", [b"1 -13", b"-1 5"])
def test_a_leader_epoch_that_cannot_be_is_an_io_error(row):
    files = FakeFiles()
    write_atomically(files, "/epochs", b"0\n2\n0 0\n" + row + b"\n")
    with pytest.raises(CorruptCheckpoint, match="cannot begin"):
        read_epochs(files, "/epochs")


def test_white_space_of_any_kind_parts_the_fields():
    assert parse_checkpoint(b"0\r\n1\r\nt\t 0  5 \r\n", "/x", 3) == [["t", "0", "5"]]


def test_a_missing_file_has_no_entries_and_can_be_made():
    files = FakeFiles()
    assert read_offsets(files, "/missing") == {}
    assert read_epochs(files, "/missing") == []
    create_if_missing(files, "/missing")
    create_if_missing(files, "/missing")
    assert files.read_bytes("/missing") == b""
