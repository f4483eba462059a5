"""A compacted topic against a map in memory: whatever happens to its log, each key has its last value or none.

Random writes and deletions of keys in every message format, truncations, moves between directories, deletion and
re-creation of the topic, clean stops, and crashes that take what was not synced, with compactions and
delete.retention.ms in between.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kafka_py.records.compression import Codec
from kafka_py.testing.compacted_topics import CompactedTopic, T
from kafka_py.testing.fakes.files import Loss

KEYS = 8
STEPS = 150
OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
DIRECTORIES = ("/a", "/b")


class History:
    """What the records of a log came to be: offset, key, value. batches: their first offsets, where it may be cut."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, str | None]] = []
        self.batches: list[int] = []

    def cut(self, end_offset: int) -> None:
        self.rows = [row for row in self.rows if row[0] < end_offset]
        self.batches = [offset for offset in self.batches if offset < end_offset]

    def values(self) -> dict[str, str]:
        """The keys that are not deleted."""
        last = {key: value for _, key, value in self.rows}
        return {key: value for key, value in last.items() if value is not None}


class Run:
    """One sequence of steps drawn from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.topic = CompactedTopic(*DIRECTORIES)
        self.history = History()
        self.count = 0
        self.format = 2
        self.did: list[str] = []
        self.steps: list[tuple[int, Callable[[], None]]] = [
            (30, self.write), (8, self.change_format), (6, self.write_much), (20, self.compact), (4, self.wait),
            (2, self.truncate),
            (1, self.begin_elsewhere), (3, self.recreate), (2, self.begin_move), (6, self.go_on_with_move),
            (2, self.move_during_compactions), (1, self.cancel_move), (2, self.restart), (3, self.crash),
            (2, self.power_failure),
        ]  # fmt: skip

    def step(self) -> None:
        (choice,) = self.rng.choices([step for _, step in self.steps], [weight for weight, _ in self.steps])
        self.did.append(choice.__name__)
        choice()

    def check(self) -> None:
        log = self.topic.log
        found = {key: value for key, value in self.topic.texts().items() if value is not None}
        assert found == self.history.values(), self.did
        assert log.compaction.cleaned_to <= log.segments[-1].base_offset

    # ---- what happens

    def write(self) -> None:
        self.topic.clock.advance(self.rng.choice([0, 0, 10, 700]))
        rows = []
        for _ in range(self.rng.randrange(1, 4)):
            self.count += 1
            key = f"k{self.rng.randrange(KEYS)}"
            rows.append((key, None if self.rng.random() < 0.4 else str(self.count)))
        if self.format < 2:
            first = self.topic.append_old(self.format, self.rng.choice(OLD_CODECS), *rows)
        else:
            first = self.topic.append(*rows)
        self.history.batches.append(first)
        self.history.rows += [(first + number, *row) for number, row in enumerate(rows)]

    def change_format(self) -> None:
        """What a leader writes follows the topic's message.format.version."""
        self.format = self.rng.choice([0, 1, 2, 2])

    def write_much(self) -> None:
        for _ in range(10):
            self.write()

    def compact(self) -> None:
        self.topic.clean(self.rng.choice([0, 700, 3000, 3000]))

    def wait(self) -> None:
        self.topic.clock.advance(self.rng.choice([10, 250, 3000, 100_000]))

    def truncate(self) -> None:
        """To below the high watermark, even: with what is cut, older values may be lost that compaction removed."""
        log = self.topic.log
        log.truncate_to(self.rng.choice([*self.history.batches, log.log_end_offset]))
        self.align()
        self.sync()
        self.history.cut(log.log_end_offset)
        self.history.rows = [
            (one.offset, (one.key or b"").decode(), None if one.value is None else one.value.decode())
            for one in self.topic.records()
        ]

    def begin_elsewhere(self) -> None:
        """The follower is so far behind, or so far ahead, that its leader has nothing of what it has."""
        self.topic.dirs.futures.drop(T)
        self.topic.log.truncate_fully_and_start_at(self.rng.randrange(self.topic.log.log_end_offset + 1))
        self.sync()
        self.history.cut(0)

    def recreate(self) -> None:
        """Often with a stop before anything else has rewritten the checkpoints."""
        self.topic.dirs.delete(T)
        self.history.cut(0)
        self.sync()
        for _ in range(self.rng.randrange(4)):
            self.write_much()
        self.rng.choice([self.write, self.restart, self.crash])()

    def sync(self) -> None:
        """The disks have what was done to the log by now: names, truncations. What the broker remembers is its own."""
        files = self.topic.files
        for path in DIRECTORIES:
            for directory in files.list(path):
                if directory.is_directory:
                    for entry in files.list(f"{path}/{directory.name}"):
                        files.open(f"{path}/{directory.name}/{entry.name}").sync()
                    files.sync_directory(f"{path}/{directory.name}")
            files.sync_directory(path)

    def begin_move(self) -> None:
        present = self.topic.log
        if self.topic.dirs.futures.get(T) is None:
            (target,) = (path for path in DIRECTORIES if path != present.log_dir)
            self.topic.dirs.futures.create(T, target)

    def go_on_with_move(self) -> None:
        future = self.topic.dirs.futures.get(T)
        for _ in range(self.rng.randrange(20)):
            if future is not None and self.topic.copy_piece() and future.files.can_move:
                self.topic.dirs.futures.promote(T)
                self.sync()
                return

    def move_during_compactions(self) -> None:
        self.begin_move()
        self.write_much()
        while (future := self.topic.dirs.futures.get(T)) is not None:
            self.go_on_with_move()
            if self.rng.random() < 0.5 and future.log_end_offset < self.topic.log.log_end_offset:
                self.compact()

    def cancel_move(self) -> None:
        self.topic.dirs.futures.drop(T)

    def align(self) -> None:
        """The future log may not have what the present one has lost."""
        future = self.topic.dirs.futures.get(T)
        if future is not None and future.log_end_offset > self.topic.log.log_end_offset:
            future.truncate_to(self.topic.log.log_end_offset)

    def restart(self) -> None:
        self.topic.restart()
        self.align()

    def crash(self) -> None:
        self.topic.restart(Loss.NOTHING)
        self.align()

    def power_failure(self) -> None:
        """The end of the log that was not synced may be lost."""
        self.topic.restart(self.rng.choice([Loss.UNSYNCED, Loss.TORN]), self.rng)
        self.history.cut(self.topic.log.log_end_offset)
        self.align()


@pytest.mark.parametrize("seed", range(25))
def test_each_key_has_its_last_value_or_is_gone(seed: int) -> None:
    run = Run(seed)
    for _ in range(STEPS):
        run.step()
        run.check()


def test_the_steps_do_what_they_are_for() -> None:
    """Tombstones go, logs are cut below what was compacted, moved, re-created; or the property would say nothing."""
    compactions = tombstones_gone = cut_below = moves = 0
    for seed in range(15):
        run = Run(seed)
        for _ in range(STEPS):
            before, directory = run.topic.log, run.topic.log.log_dir
            cleaned_to = before.compaction.cleaned_to
            run.step()
            after = run.topic.log
            compactions += after is before and after.compaction.cleaned_to > cleaned_to
            cut_below += after is before and after.compaction.cleaned_to < cleaned_to
            moves += after.log_dir != directory
            deleted = {key for _, key, _ in run.history.rows} - run.history.values().keys()
            tombstones_gone += bool(deleted - run.topic.texts().keys())
    assert min(compactions, tombstones_gone, cut_below, moves) > 3, (compactions, tombstones_gone, cut_below, moves)
