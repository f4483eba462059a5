"""Text checkpoints: the offset files of a log directory, and the leader epochs of a partition.

Parsing and formatting are pure, reading takes the Files; background_file.py writes the files.
Source: docs/reference/log.md, section 12.

Layout: line 1 the version `0`, line 2 the number of entries, then one entry per line, fields separated by white space.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Mapping

from kafka_py.base.ids import TopicPartition
from kafka_py.log.disk.files import Files
from kafka_py.log.state.epochs import EpochStart

_VERSION = "0"


class CorruptCheckpoint(OSError):
    """A malformed checkpoint file; an I/O error, because its directory goes offline."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(errno.EIO, reason, path)


def format_checkpoint(rows: Iterable[str]) -> bytes:
    """The file's content for these entries."""
    lines = list(rows)
    return "".join(f"{line}\n" for line in (_VERSION, len(lines), *lines)).encode()


def parse_checkpoint(data: bytes, path: str, fields: int) -> list[list[str]]:
    """The entries, each a list of `fields` fields. An empty file has none.

    path: for the error. Raises CorruptCheckpoint for another version, a malformed line or a wrong count.
    """
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError:
        raise CorruptCheckpoint(path, "the checkpoint is not UTF-8 text") from None
    if not lines:
        return []
    if lines[0].strip() != _VERSION:
        raise CorruptCheckpoint(path, f"checkpoint version {lines[0]!r} is not known")
    if len(lines) == 1:
        return []
    if not lines[1].strip().isdecimal():
        raise CorruptCheckpoint(path, f"the checkpoint's entry count {lines[1]!r} is not a number")
    rows = [line.split() for line in lines[2:]]
    if int(lines[1]) != len(rows):
        raise CorruptCheckpoint(path, f"the checkpoint announces {lines[1]} entries and holds {len(rows)}")
    for row in rows:
        if len(row) != fields:
            raise CorruptCheckpoint(path, f"malformed checkpoint line {' '.join(row)!r}")
    return rows


def _number(text: str, path: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CorruptCheckpoint(path, f"{text!r} in the checkpoint is not a number") from None


def read_offsets(files: Files, path: str) -> dict[TopicPartition, int]:
    """The entries of an offset checkpoint; a missing file has none. Raises CorruptCheckpoint, OSError."""
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return {}
    return {
        TopicPartition(topic, _number(partition, path)): _number(offset, path)
        for topic, partition, offset in parse_checkpoint(data, path, 3)
    }


def format_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The content of an offset checkpoint."""
    return format_checkpoint(f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items())


def read_epochs(files: Files, path: str) -> list[EpochStart]:
    """The entries of a leader-epoch checkpoint; a missing file has none. Raises CorruptCheckpoint, OSError."""
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return []
    entries = [
        EpochStart(_number(epoch, path), _number(start, path)) for epoch, start in parse_checkpoint(data, path, 2)
    ]
    for epoch, start in entries:
        if epoch < 0 or start < 0:
            raise CorruptCheckpoint(path, f"leader epoch {epoch} of the checkpoint cannot begin at offset {start}")
    return entries


def format_epochs(entries: Iterable[EpochStart]) -> bytes:
    """The content of a leader-epoch checkpoint."""
    return format_checkpoint(f"{entry.epoch} {entry.start_offset}" for entry in entries)


def create_if_missing(files: Files, path: str) -> None:
    """Creates an empty checkpoint file if there is none."""
    if not files.exists(path):
        files.open(path, create=True).close()
