"""Removes or completes what a crash leaves in a log's directory: .deleted, .cleaned and .swap files.

Blocks; part of opening a log. Source: docs/reference/log.md, sections 1 and 13.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kafka_py.log.disk import filenames
from kafka_py.log.disk.directory import PartitionDirectory
from kafka_py.log.disk.filenames import SegmentFileName
from kafka_py.log.disk.files import FileInfo
from kafka_py.log.segments.scanning import iter_file_headers
from kafka_py.records.batch import CorruptBatch

_log = logging.getLogger(__name__)


def remove_leftovers(place: PartitionDirectory) -> list[FileInfo]:
    """Removes deleted and unfinished files; returns the remaining entries.

    `.swap` logs are finished and remain, unless a `.cleaned` file with the same or a smaller base offset shows that the
    rename of the group was not complete. Index files under the final name of a swapped base offset are removed, because
    they may belong to a replaced segment; so are index files without a log.
    """
    entries = place.files.list(place.path)
    parsed = [(entry, filenames.parse_segment_file(entry.name)) for entry in entries]
    known = [(entry, name) for entry, name in parsed if name is not None]
    cleaned = [name.base_offset for _, name in known if name.state == filenames.CLEANED]
    first_cleaned = min(cleaned, default=None)
    swaps = {
        name.base_offset
        for _, name in known
        if name.state == filenames.SWAP and (first_cleaned is None or name.base_offset < first_cleaned)
    }
    logs = {name.base_offset for _, name in known if name.suffix == filenames.LOG and not name.state}
    remaining = []
    for entry, name in parsed:
        if name is not None and _is_leftover(name, swaps, logs):
            place.remove_if_present(entry.name)
        else:
            remaining.append(entry)
    return remaining


def _is_leftover(name: SegmentFileName, swaps: set[int], logs: set[int]) -> bool:
    if name.state == filenames.SWAP:
        return name.suffix != filenames.LOG or name.base_offset not in swaps
    if name.state:
        return True
    if name.suffix in filenames.INDEX_SUFFIXES:
        return name.base_offset in swaps or name.base_offset not in logs
    return False


def finish_swaps(place: PartitionDirectory, sizes: dict[str, int]) -> Iterable[int]:
    """Completes every `.log.swap` file's replacement; the base offsets of the segments to be re-indexed.

    sizes: of the directory's files by name; kept up to date.
    """
    swapped = []
    for name in sorted(sizes):
        parsed = filenames.parse_segment_file(name)
        if parsed is None or parsed.state != filenames.SWAP:
            continue
        base_offset = parsed.base_offset
        end_offset = _next_offset(place, name, sizes[name], base_offset)
        _log.info("%s: finishing the replacement of offsets %d to %d", place.path, base_offset, end_offset)
        for other in _logs(sizes):
            if _overlaps(place, other, sizes, base_offset, end_offset):
                _remove_segment(place, other, sizes)
        final = filenames.segment_file(base_offset, filenames.LOG)
        place.files.rename(place.file(name), place.file(final))
        sizes[final] = sizes.pop(name)
        swapped.append(base_offset)
    return swapped


def _logs(sizes: dict[str, int]) -> list[int]:
    """The base offsets of the .log files that are in use."""
    parsed = map(filenames.parse_segment_file, sizes)
    return [found.base_offset for found in parsed if found and found.suffix == filenames.LOG and not found.state]


def _overlaps(place: PartitionDirectory, other: int, sizes: dict[str, int], base_offset: int, end_offset: int) -> bool:
    """Whether the segment at base offset `other` holds offsets of [base_offset, end_offset)."""
    if other >= base_offset:
        return other == base_offset or other < end_offset
    name = filenames.segment_file(other, filenames.LOG)
    return _next_offset(place, name, sizes[name], other) > base_offset


def _next_offset(place: PartitionDirectory, name: str, size: int, base_offset: int) -> int:
    """The offset after the last whole batch of a .log file."""
    file = place.files.open(place.file(name))
    next_offset = base_offset
    try:
        for _, header in iter_file_headers(file, 0, size):
            next_offset = header.next_offset
    except CorruptBatch:
        pass
    finally:
        file.close()
    return next_offset


def _remove_segment(place: PartitionDirectory, base_offset: int, sizes: dict[str, int]) -> None:
    for suffix in filenames.SEGMENT_SUFFIXES:
        name = filenames.segment_file(base_offset, suffix)
        place.remove_if_present(name)
        sizes.pop(name, None)
