"""Which batches a folder of data holds: offsets and files of each, so that a rerun repeats nothing.

A batch is written aside, then entered here (that is what makes it count), then moved to its place. After a kill the
last entry's moves are finished and what was written aside without an entry is thrown away. Readers see whole files
only, and no file of a batch that does not count.

Layout: <folder>/_offsets/<number>.json, one entry per batch: {"batch": 3, "start": {topic: {partition: offset}},
"end": {...}, "files": ["date=2026-01-01/part-...parquet", ...], "rows": 17, "staging": name}; <folder>/_staging/<name>/
while it is written.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from kafka_py.pipeline.jobs.folders import Folder
from kafka_py.pipeline.offsets import Offsets, from_nested, to_nested

ENTRIES = "_offsets"
STAGING = "_staging"


@dataclass
class Entry:
    """One batch. `end` is where the next one begins."""

    batch: int
    start: Offsets
    end: Offsets
    files: list[str] = field(default_factory=list)
    rows: int = 0
    staging: str = field(default_factory=lambda: uuid.uuid4().hex)
    """The folder that it is written to first: its own, in case another writer has a batch of the same number."""

    def to_json(self) -> str:
        values: dict[str, Any] = {"batch": self.batch, "start": to_nested(self.start), "end": to_nested(self.end)}
        return json.dumps({**values, "files": self.files, "rows": self.rows, "staging": self.staging}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Entry:
        values = json.loads(text)
        offsets = from_nested(values["start"]), from_nested(values["end"])
        return cls(values["batch"], *offsets, values["files"], values["rows"], values["staging"])


class Ledger:
    """The entries of one folder; one writer at a time."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def recover(self) -> Entry | None:
        """Brings the folder in order after whatever happened; the last entry, None in a new folder."""
        last = self.last()
        if last is not None:
            self._place(last)
        self.folder.remove(STAGING)
        return last

    def last(self) -> Entry | None:
        names = [name for name in self.folder.names(ENTRIES) if name.endswith(".json") and not name.startswith(".")]
        return Entry.from_json(self.folder.read(f"{ENTRIES}/{names[-1]}")) if names else None

    def entries(self) -> list[Entry]:
        names = [name for name in self.folder.names(ENTRIES) if name.endswith(".json") and not name.startswith(".")]
        return [Entry.from_json(self.folder.read(f"{ENTRIES}/{name}")) for name in names]

    def staging(self, entry: Entry) -> str:
        """The full path for Spark to write a batch to."""
        return self.folder.uri(self._staged(entry))

    @staticmethod
    def _staged(entry: Entry) -> str:
        return f"{STAGING}/{entry.staging}"

    def commit(self, entry: Entry) -> None:
        """Enters a batch that is in its staging folder. Raises FileExistsError when another writer was faster."""
        entry.files = self.folder.files_below(self._staged(entry))
        self.folder.write(f"{ENTRIES}/{entry.batch:012d}.json", entry.to_json())
        self._place(entry)
        self.folder.remove(self._staged(entry))

    def _place(self, entry: Entry) -> None:
        for name in entry.files:
            self.folder.move(f"{self._staged(entry)}/{name}", self._final(entry.batch, name))

    @staticmethod
    def _final(batch: int, name: str) -> str:
        directory, _, base = name.rpartition("/")
        return f"{directory}/{batch:012d}-{base}" if directory else f"{batch:012d}-{base}"
