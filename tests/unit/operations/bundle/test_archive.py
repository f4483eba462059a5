"""The archive on the disk."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from kafka_py.operations.bundle.archive import write_archive
from kafka_py.operations.bundle.entries import BundleEntry

ENTRIES = [BundleEntry("a.txt", b"content")]


def test_only_its_owner_can_read_it_whatever_was_there_before(tmp_path: Path) -> None:
    """In a folder that others can write to, the file in the making may have been laid there by one of them."""
    path = tmp_path / "x.tar.gz"
    theirs = tmp_path / "theirs"
    theirs.write_text("old")
    theirs.chmod(0o666)
    (tmp_path / ".x.tar.gz.part").symlink_to(theirs)
    assert write_archive(path, ENTRIES, "folder", 0.0) == path.stat().st_size
    assert theirs.read_text() == "old"
    assert path.stat().st_mode & 0o777 == 0o600 and not path.is_symlink()
    with tarfile.open(path) as archive:
        assert archive.getnames() == ["folder/a.txt"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["theirs", "x.tar.gz"]


def test_it_replaces_no_file(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_text("old")
    with pytest.raises(FileExistsError):
        write_archive(path, ENTRIES, "folder", 0.0)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
