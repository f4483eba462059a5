"""How far a replacement is, and what turning it round makes of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_py.operations.replacement.plan_file import ReplacementRefused
from kafka_py.operations.replacement.progress import ReplacementProgress, as_text, directed, read_progress

APACHE, OURS = "apache", "kafka_py"


def test_the_controller_comes_last_and_the_one_under_way_first() -> None:
    progress = directed(None, OURS, [2, 0, 1])
    assert progress == ReplacementProgress(OURS, {2: APACHE, 0: APACHE, 1: APACHE})
    assert progress.left(controller=0) == [1, 2, 0]
    progress.current = 0
    assert progress.left(controller=0) == [0, 1, 2]


def test_it_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    assert read_progress(path) is None
    progress = ReplacementProgress(OURS, {1: OURS, 2: APACHE}, 2, True)
    path.write_text(as_text(progress))
    assert read_progress(path) == progress
    assert (progress.done, progress.left(-1)) == ([1], [2])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"to": "x", "makes": {}}', '{"to": "apache", "makes": {"a": "apache"}}',
     '{"to": "apache", "makes": {"1": "x"}}', '{"to": "apache", "makes": {}, "current": 3}',
     '{"to": "apache", "makes": {}, "other": 3}'],
)  # fmt: skip
def test_what_is_no_progress(tmp_path: Path, text: str) -> None:
    path = tmp_path / "progress"
    path.write_text(text)
    with pytest.raises(ReplacementRefused, match="remove it if"):
        read_progress(path)


def test_what_was_done_is_not_done_again() -> None:
    stored = ReplacementProgress(OURS, {0: OURS, 1: OURS})
    assert directed(stored, OURS, [0, 1, 2]).left(-1) == [2]
    assert directed(stored, APACHE, [0, 1]).left(-1) == [0, 1]


def test_continued_a_broker_under_way_is_still_under_way() -> None:
    stored = ReplacementProgress(OURS, {0: OURS, 1: APACHE}, 1, True, True)
    assert directed(stored, OURS, [0, 1]) == stored
    assert not directed(stored, APACHE, [0, 1]).is_started


def test_a_broker_that_was_stopped_goes_back_first_and_what_runs_of_it_is_stopped() -> None:
    stored = ReplacementProgress(OURS, {0: OURS, 1: APACHE, 2: APACHE}, 1, is_stopped=True)
    back = directed(stored, APACHE, [0, 1, 2])
    assert back == ReplacementProgress(APACHE, {0: OURS, 1: OURS, 2: APACHE}, 1, is_stopped=False, is_turned=True)
    assert directed(back, APACHE, [0, 1, 2]) == back, "also when it is continued"
    assert back.left(-1) == [1, 0]


def test_a_broker_that_was_not_stopped_yet_is_not_stopped() -> None:
    stored = ReplacementProgress(OURS, {0: OURS, 1: APACHE}, 1, is_stopped=False)
    assert directed(stored, APACHE, [0, 1]) == ReplacementProgress(APACHE, {0: OURS, 1: OURS}, 1, is_stopped=True)


@pytest.mark.parametrize("to", [OURS, APACHE])
def test_a_plan_without_the_broker_under_way(to: str) -> None:
    """It may be down: nothing of the others is stopped."""
    with pytest.raises(ReplacementRefused, match="broker 1 is being replaced, and is not in the plan"):
        directed(ReplacementProgress(OURS, {0: APACHE, 1: APACHE}, 1, is_stopped=True), to, [0, 2])


def test_turned_round_twice_it_goes_on_where_it_was() -> None:
    stored = ReplacementProgress(OURS, {0: OURS, 1: APACHE, 2: APACHE}, 1, is_stopped=True)
    assert directed(directed(stored, APACHE, [0, 1, 2]), OURS, [0, 1, 2]) == stored
