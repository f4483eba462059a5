"""A range of an open file: what is read of it."""

from pathlib import Path

from kafka_py.base.slices import FileSlice


def test_a_slice_reads_its_own_bytes_and_leaves_the_files_position_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with path.open("rb") as file:
        assert FileSlice(file, 3, 4).read() == b"3456"
        assert FileSlice(file, 0, 0).read() == b""
        assert file.read() == b"0123456789"


def test_a_file_that_was_cut_meanwhile_gives_less(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with path.open("r+b") as file:
        part = FileSlice(file, 3, 4)
        file.truncate(5)
        assert part.read() == b"34"
        file.truncate(2)
        assert part.read() == b""
