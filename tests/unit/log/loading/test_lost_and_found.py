"""A log directory that is the root of a file system."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from kafka_py.log.disk.files import FileInfo
from kafka_py.log.loading.log_dir import LogDir


def test_the_directory_of_the_file_system_is_no_partition() -> None:
    found = [FileInfo(name, name != "file-0", 0, 0) for name in ("file-0", "lost+found", "t-0")]
    files = SimpleNamespace(list=lambda path: found)
    log_dir = cast(Any, SimpleNamespace(context=SimpleNamespace(files=files), path="/data"))
    assert [each.name for each in LogDir.partition_directories(log_dir)] == ["t-0"]
