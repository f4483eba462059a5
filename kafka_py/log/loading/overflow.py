"""Splits a segment that spans more offsets than its indexes can store (old versions could write such segments).

Blocks; part of opening a log. Works like compaction: new files as `.cleaned`, synced, then `.swap`, then their final
names, so that leftovers.py can recover from a crash at any moment. Source: docs/reference/log.md, section 13.
"""

from __future__ import annotations

import logging

from kafka_py.base.texts import listed
from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.files import File
from kafka_py.log.segments.scanning import iter_file_batches
from kafka_py.log.segments.segment import MAX_RELATIVE_OFFSET

_log = logging.getLogger(__name__)


class OffsetOverflow(Exception):
    """A segment holds an offset that is too far above its base offset."""

    def __init__(self, base_offset: int) -> None:
        super().__init__(f"the segment at offset {base_offset} spans too many offsets")
        self.base_offset = base_offset


def split_segment(place: PartitionDirectory, base_offset: int) -> list[int]:
    """Replaces one segment by several; returns their base offsets. The caller rebuilds the indexes."""
    name = filenames.segment_file(base_offset, filenames.LOG)
    source = place.files.open(place.file(name))
    bases: list[int] = []
    target: File | None = None
    written = 0
    for _, header, batch in iter_file_batches(source, 0, source.size()):
        if target is None or header.last_offset - bases[-1] > MAX_RELATIVE_OFFSET:
            _finish(target)
            bases.append(header.base_offset if bases else base_offset)
            target = place.files.open(place.file(_log_file(bases[-1], filenames.CLEANED)), create=True)
            target.truncate(0)
            written = 0
        target.write(batch, written)
        written += len(batch)
    _finish(target)
    source.close()
    _log.info("%s: split at offsets %s", place.file(name), listed(bases))
    for base in reversed(bases):
        place.files.rename(
            place.file(_log_file(base, filenames.CLEANED)), place.file(_log_file(base, filenames.SWAP))
        )
    for suffix in filenames.SEGMENT_SUFFIXES:
        place.remove_if_present(filenames.segment_file(base_offset, suffix))
    for base in bases:
        place.files.rename(place.file(_log_file(base, filenames.SWAP)), place.file(_log_file(base, "")))
    return bases


def _log_file(base_offset: int, state: str) -> str:
    return filenames.segment_file(base_offset, filenames.LOG) + state


def _finish(file: File | None) -> None:
    if file is not None:
        file.sync()
        file.close()
