"""One suite for the real disk and the one in memory: both keep the promises of the Files protocol."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import kafka_py
from kafka_py.log.disk.files import Files, RealFiles, remove_files, write_atomically
from kafka_py.testing.fakes.files import FakeFiles


@pytest.fixture(params=["real", "fake"])
def disk(request, tmp_path) -> tuple[Files, str]:
    files: Files = RealFiles() if request.param == "real" else FakeFiles()
    files.make_directory(str(tmp_path))
    return files, str(tmp_path)


def test_a_missing_file_is_only_made_on_demand(disk):
    files, home = disk
    with pytest.raises(FileNotFoundError):
        files.open(f"{home}/a")
    with pytest.raises(FileNotFoundError):
        files.open(f"{home}/missing/a", create=True)
    assert files.open(f"{home}/a", create=True).size() == 0
    assert files.exists(f"{home}/a")
    assert not files.exists(f"{home}/b")


@pytest.mark.parametrize("kind", [bytes, bytearray, lambda data: memoryview(bytearray(data))])
def test_bytes_written_are_read_back_and_a_read_past_the_end_is_short(disk, kind):
    files, home = disk
    file = files.open(f"{home}/a", create=True)
    file.write(kind(b"0123456789"), 0)
    file.write(kind(b"xy"), 4)
    assert file.read(100, 2) == b"23xy6789"
    assert file.read(3, 9) == b"9"
    assert file.read(3, 10) == b""
    assert files.read_bytes(f"{home}/a") == b"0123xy6789"


def test_a_write_past_the_end_leaves_zeroes_before_it(disk):
    files, home = disk
    file = files.open(f"{home}/a", create=True)
    file.write(b"x", 3)
    assert file.read(10, 0) == b"\0\0\0x"


def test_truncate_cuts_and_extends_with_zeroes(disk):
    files, home = disk
    file = files.open(f"{home}/a", create=True)
    file.write(b"abcdef", 0)
    file.truncate(2)
    file.truncate(4)
    assert (file.size(), file.read(10, 0)) == (4, b"ab\0\0")
    file.sync()
    assert files.info(f"{home}/a").size == 4


def test_an_open_file_outlives_its_name_and_its_descriptor_reads_the_same(disk):
    files, home = disk
    file = files.open(f"{home}/a", create=True)
    file.write(b"still here", 0)
    files.rename(f"{home}/a", f"{home}/b")
    files.remove(f"{home}/b")
    assert file.read(10, 0) == b"still here"
    assert os.pread(file.fileno(), 10, 0) == b"still here"
    file.write(b"STILL", 0)
    assert os.pread(file.fileno(), 10, 0) == b"STILL here"


def test_a_rename_replaces_the_target_and_a_missing_source_is_an_error(disk):
    files, home = disk
    files.open(f"{home}/a", create=True).write(b"a", 0)
    files.open(f"{home}/b", create=True).write(b"b", 0)
    files.rename(f"{home}/a", f"{home}/b")
    assert files.read_bytes(f"{home}/b") == b"a"
    with pytest.raises(FileNotFoundError):
        files.rename(f"{home}/a", f"{home}/c")
    with pytest.raises(FileNotFoundError):
        files.remove(f"{home}/a")


def test_directories_are_made_listed_renamed_and_removed(disk):
    files, home = disk
    files.make_directory(f"{home}/d/e")
    files.make_directory(f"{home}/d/e")
    files.open(f"{home}/d/f", create=True).write(b"12345", 0)
    assert [(entry.name, entry.is_directory) for entry in files.list(f"{home}/d")] == [("e", True), ("f", False)]
    assert files.list(f"{home}/d")[1].size == 5
    files.rename(f"{home}/d", f"{home}/g")
    assert files.read_bytes(f"{home}/g/f") == b"12345"
    assert files.info(f"{home}/g").is_directory
    files.sync_directory(f"{home}/g")
    files.remove_tree(f"{home}/g")
    with pytest.raises(FileNotFoundError):
        files.list(f"{home}/g")


def test_directories_that_are_made_are_their_owners_alone(tmp_path):
    made = tmp_path / "logs" / "t-0"
    RealFiles().make_directory(str(made))
    assert made.stat().st_mode & 0o777 == 0o700
    tmp_path.chmod(0o755)
    RealFiles().make_directory(str(tmp_path))
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_file_where_a_directory_should_be_is_an_error(disk):
    files, home = disk
    files.open(f"{home}/a", create=True)
    with pytest.raises(OSError, match="exists"):
        files.make_directory(f"{home}/a")


def test_an_atomic_write_replaces_the_whole_file(disk):
    files, home = disk
    write_atomically(files, f"{home}/a", b"a longer text")
    write_atomically(files, f"{home}/a", b"short")
    assert files.read_bytes(f"{home}/a") == b"short"
    assert [entry.name for entry in files.list(home)] == ["a"]


def test_removing_files_that_are_gone_is_fine(disk):
    files, home = disk
    files.open(f"{home}/a", create=True)
    remove_files(files, [f"{home}/a", f"{home}/b"])
    assert files.list(home) == []


def test_a_released_lock_can_be_taken_again(disk):
    files, home = disk
    lock = files.lock(f"{home}/.lock")
    assert lock is not None
    lock.release()
    again = files.lock(f"{home}/.lock")
    assert again is not None
    again.release()


def test_a_lock_holds_against_another_process(tmp_path):
    lock = RealFiles().lock(f"{tmp_path}/.lock")
    assert lock is not None
    program = f"from kafka_py.log.disk.files import RealFiles; print(RealFiles().lock({str(tmp_path / '.lock')!r}))"
    environment = {**os.environ, "PYTHONPATH": str(Path(kafka_py.__file__).parents[1])}

    def other_process() -> str:
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True).stdout

    assert other_process() == "None\n"
    lock.release()
    assert other_process() != "None\n"


def test_dropping_the_last_reference_closes_the_descriptor(tmp_path):
    file = RealFiles().open(f"{tmp_path}/a", create=True)
    descriptor = file.fileno()
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
