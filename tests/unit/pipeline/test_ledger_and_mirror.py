"""The ledger's order of things, with a folder in memory; offsets translated by a mirror's runs; progress lines."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from kafka_py.base.ids import TopicPartition
from kafka_py.pipeline.commit_protocol import Incomplete, TaskReport, Written, abandon, settle
from kafka_py.pipeline.jobs.ledger import Entry, Ledger
from kafka_py.pipeline.jobs.mirror import CopiedRun, MirrorRound, _add_runs, translate
from kafka_py.pipeline.progress import lag, line_of
from kafka_py.records.columns import Columns, Spans

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class MemoryFolder:
    """A Folder whose files are a dict; moves can be made to fail."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.moves_left = 1 << 30

    def uri(self, name: str = "") -> str:
        return f"mem:/{name}"

    def names(self, name: str = "") -> list[str]:
        below = f"{name}/" if name else ""
        return sorted({path.removeprefix(below).partition("/")[0] for path in self.files if path.startswith(below)})

    def files_below(self, name: str) -> list[str]:
        return sorted(path.removeprefix(f"{name}/") for path in self.files if path.startswith(f"{name}/"))

    def read(self, name: str) -> str:
        return self.files[name]

    def write(self, name: str, text: str) -> None:
        if name in self.files:
            raise FileExistsError(name)
        self.files[name] = text

    def move(self, source: str, target: str) -> None:
        if target in self.files and source not in self.files:
            return
        if not self.moves_left:
            raise OSError("killed")
        self.moves_left -= 1
        self.files[target] = self.files.pop(source)

    def remove(self, name: str) -> None:
        for path in [path for path in self.files if path == name or path.startswith(f"{name}/")]:
            del self.files[path]

    def data(self) -> list[str]:
        return sorted(text for path, text in self.files.items() if not path.startswith("_"))


def staged(folder: MemoryFolder, entry: Entry, *contents: str) -> Entry:
    for number, text in enumerate(contents):
        folder.files[f"_staging/{entry.staging}/date=1/part-{number}"] = text
    return entry


def test_a_batch_counts_from_its_entry_on() -> None:
    folder = MemoryFolder()
    ledger = Ledger(folder)  # type: ignore[arg-type]
    assert ledger.recover() is None
    ledger.commit(staged(folder, Entry(0, {T0: 0}, {T0: 2}, rows=2), "a", "b"))
    assert folder.data() == ["a", "b"]
    staged(folder, Entry(1, {}, {}), "never entered")
    last = ledger.recover()
    assert last is not None and (last.batch, last.end, last.rows) == (0, {T0: 2}, 2)
    assert folder.data() == ["a", "b"]
    assert not folder.files_below("_staging")


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_moves_that_were_interrupted_are_finished(moves: int) -> None:
    folder = MemoryFolder()
    ledger = Ledger(folder)  # type: ignore[arg-type]
    entry = staged(folder, Entry(0, {T0: 0}, {T0: 3}), "a", "b", "c")
    folder.moves_left = moves
    with pytest.raises(OSError, match="killed"):
        ledger.commit(entry)
    folder.moves_left = 1 << 30
    for _ in range(2):
        assert ledger.recover() is not None
        assert folder.data() == ["a", "b", "c"]


def test_two_writers_do_not_enter_the_same_batch() -> None:
    folder = MemoryFolder()
    ledger = Ledger(folder)  # type: ignore[arg-type]
    ledger.commit(staged(folder, Entry(0, {}, {}), "a"))
    with pytest.raises(FileExistsError):
        ledger.commit(staged(folder, Entry(0, {}, {}), "b"))
    ledger.recover()
    assert folder.data() == ["a"]


def columns_at(*offsets: int) -> Columns:
    none = np.zeros(len(offsets), np.int64)
    spans = Spans(none, none)
    return Columns(np.array(offsets, np.int64), none, none.astype(np.int32), none, spans, spans, none, none, b"")


def test_runs_join_across_chunks_and_break_at_gaps() -> None:
    runs: list[CopiedRun] = []
    _add_runs(runs, columns_at(5, 6, 9), 100)
    _add_runs(runs, columns_at(10, 11), 103)
    assert runs == [CopiedRun(5, 100, 2), CopiedRun(9, 102, 3)]


def test_offsets_are_translated() -> None:
    first = MirrorRound(0, {T0: 5}, {T0: 12}, {T0: 100}, {"t-0": [CopiedRun(5, 100, 2), CopiedRun(9, 102, 3)]})
    second = MirrorRound(1, {T0: 12}, {T0: 14}, {T0: 105}, {"t-0": [CopiedRun(12, 105, 2)]})
    assert first.next_targets() == {T0: 105}
    seen = {offset: translate([first, second], T0, offset) for offset in (3, 5, 6, 7, 8, 9, 11, 12, 14, 50)}
    assert seen == {3: 100, 5: 100, 6: 101, 7: 102, 8: 102, 9: 102, 11: 104, 12: 105, 14: 107, 50: 107}
    assert translate([first], T1, 5) is None
    assert MirrorRound.from_json(first.to_json()) == first


def test_a_batch_is_settled_when_all_tasks_have_reported() -> None:
    reports = [TaskReport(0, 0, {T0: Written(2, 5, 6)}), TaskReport(1, 0, {T0: Written(1, 7, 7), T1: Written(1, 0, 0)})]
    receipt = settle(reports, 4)
    assert receipt.written == {T0: Written(3, 5, 7), T1: Written(1, 0, 0)}
    assert (receipt.batch_id, receipt.record_count) == (4, 4)
    assert str(receipt) == "4 records written (t-0 3, t-1 1)"
    with pytest.raises(Incomplete, match="1 of 3 tasks"):
        settle([*reports, None])
    assert abandon([None, reports[0]]).record_count == 2


def test_a_micro_batch_is_one_line() -> None:
    offsets = {"endOffset": {"t": {"0": 10, "1": 5}}, "latestOffset": {"t": {"0": 13, "1": 5}}}
    progress = {"name": "q", "batchId": 7, "numInputRows": 1000, "durationMs": {"triggerExecution": 500}}
    assert line_of({**progress, "sources": [offsets]}) == "q: batch 7, 1,000 rows in 0.5 s (2,000/s), lag 3 (t-0: 3)"
    assert line_of({**progress, "sources": [{"endOffset": {"logOffset": 3}, "latestOffset": None}]}) == (
        "q: batch 7, 1,000 rows in 0.5 s (2,000/s)"
    )
    assert lag({"t": {"0": 4}}, None) == {T0: 4}
