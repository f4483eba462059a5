"""The disk in memory loses what it should lose, and nothing else."""

import contextlib
import errno
import random

import pytest

from kafka_py.testing.fakes.files import FakeFiles, Loss


def written(files, path="/a", parts=(b"synced", b"lost")):
    file = files.open(path, create=True)
    file.write(parts[0], 0)
    file.sync()
    file.write(parts[1], len(parts[0]))
    return file


def test_a_process_crash_loses_nothing_and_a_power_failure_what_was_not_synced():
    files = FakeFiles()
    written(files)
    files.crash(Loss.NOTHING)
    assert files.read_bytes("/a") == b"syncedlost"
    files.crash(Loss.UNSYNCED)
    assert files.read_bytes("/a") == b"synced"


def test_torn_writes_are_whole_partial_or_gone_and_repeatable_from_the_seed():
    def survivors(seed):
        files = FakeFiles()
        written(files)
        files.crash(Loss.TORN, random.Random(seed))
        return files.read_bytes("/a")

    seen = {survivors(seed) for seed in range(200)}
    assert {b"synced", b"syncedlost"} < seen
    assert all(b"syncedlost".startswith(each) for each in seen)
    assert survivors(3) == survivors(3)


def test_open_files_and_locks_do_not_survive_a_crash():
    files = FakeFiles()
    file = written(files)
    assert files.lock("/.lock") is not None
    files.crash(Loss.NOTHING)
    with pytest.raises(OSError, match="crashed"):
        file.read(1, 0)
    assert files.lock("/.lock") is not None


def test_names_may_need_a_sync_of_their_directory():
    files = FakeFiles(names_need_sync=True)
    files.make_directory("/d")
    for name in ("a", "b"):
        files.open(f"/d/{name}", create=True).sync()
    files.sync_directory("/d")
    files.rename("/d/a", "/d/c")
    files.remove("/d/b")
    files.crash()
    assert [entry.name for entry in files.list("/d")] == ["a", "b"]


def test_what_follows_a_lost_truncation_is_lost_with_it():
    for seed in range(50):
        files = FakeFiles()
        file = files.open("/a", create=True)
        file.write(b"oldold", 0)
        file.sync()
        file.truncate(3)
        file.write(b"new", 3)
        files.crash(Loss.TORN, random.Random(seed))
        assert files.read_bytes("/a").ljust(6, b".") in (b"oldold", b"old...", b"oldn..", b"oldne.", b"oldnew")


def test_a_replaced_disk_is_empty_and_remembers_no_names():
    files = FakeFiles(names_need_sync=True)
    files.make_directory("/logs")
    with contextlib.closing(files.open("/logs/a", create=True)) as file:
        file.write(b"old", 0)
        file.sync()
    files.sync_directory("/logs")
    files.sync_directory("/")
    files.replace()
    assert not files.exists("/logs")
    files.crash(Loss.UNSYNCED)
    assert not files.exists("/logs/a")


def test_a_full_disk_takes_what_fits():
    files = FakeFiles(capacity_bytes=5)
    file = files.open("/a", create=True)
    with pytest.raises(OSError, match="No space"):
        file.write(b"12345678", 0)
    assert files.read_bytes("/a") == b"12345"
    file.write(b"abc", 0)


def test_faults_strike_the_calls_they_name():
    files = FakeFiles()
    file = files.open("/a.log", create=True)
    files.fail("write", errno.EIO, path=".log", after=1, times=2, partial=1)
    file.write(b"ok", 0)
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output"):
            file.write(b"xyz", 2)
    assert files.read_bytes("/a.log") == b"okx"
    file.write(b"fine", 2)


def test_flipped_bits_are_on_disk():
    files = FakeFiles()
    written(files)
    files.corrupt("/a", 0, 0x20)
    files.crash()
    assert files.read_bytes("/a") == b"Syncedlost"
