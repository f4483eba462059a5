"""The newest record format of what a fetch is about to send, by a look at a few of its bytes."""

import os
import struct
from pathlib import Path

import pytest

from kafka_py.base.slices import FileSlice
from kafka_py.broker.handlers.records import old_readers
from kafka_py.testing.fakes.stored_logs import batch

READ = old_readers._HEADERS_READ_BYTES


def entry(magic: int, size: int) -> bytes:
    """What is looked at of a batch, or of an entry of an older format, of so many bytes."""
    made = bytearray(size)
    struct.pack_into(">qiib", made, 0, 0, size - 12, 0, magic)
    return bytes(made)


def newest(path: Path, data: bytes, *, before: int = 0) -> int:
    path.write_bytes(bytes(before) + data)
    with path.open("rb") as file:
        newest, size, _ = old_readers.newest_format(FileSlice(file, before, len(data)), 1 << 30)
        assert size == len(data)
        return newest


@pytest.mark.parametrize("size", [30, 500, READ - 10, READ, 50_000])
@pytest.mark.parametrize("last", [0, 1, 2])
def test_the_format_of_the_last_entry_counts_wherever_it_is(tmp_path: Path, size: int, last: int) -> None:
    data = entry(0, size) * (100_000 // size + 2) + entry(last, 40)
    assert newest(tmp_path / "log", data, before=7) == last
    assert newest(tmp_path / "log", data[:-24], before=7) == 0, "less than what shows the format of the last"


def test_no_more_than_so_many_are_looked_at(tmp_path: Path) -> None:
    """A megabyte of small entries would hold the event loop for 15 ms."""
    path = tmp_path / "log"
    path.write_bytes(bytes(7) + entry(1, 40) * 1000)
    with path.open("rb") as file:
        for whole in (0, 30):
            records = FileSlice(file, 7, 40 * 1000 - whole)
            assert old_readers.newest_format(records, 10) == (1, 400, 10)
            assert old_readers.newest_format(records, 1000) == (1, records.size, 1000 - bool(whole))


def test_nothing_shows_no_format(tmp_path: Path) -> None:
    assert newest(tmp_path / "log", b"") == newest(tmp_path / "log", bytes(batch())[:16]) == -1


def test_little_is_read_where_the_first_batch_tells_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    read = os.pread

    def counted(descriptor: int, size: int, position: int) -> bytes:
        sizes.append(size)
        return read(descriptor, size, position)

    monkeypatch.setattr(os, "pread", counted)
    assert newest(tmp_path / "log", bytes(batch([b"x" * 1000])) * 5000) == 2
    assert sum(sizes) <= old_readers._HEADERS_READ_BYTES
