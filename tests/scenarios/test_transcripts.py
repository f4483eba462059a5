"""The transcripts in the folders beside this file: what is done to groups, a controller or replicas, and what follows.

After a change of behaviour: `python -m kafka_py.testing.transcripts --rewrite tests/scenarios/*/*.txt`.
"""

from functools import partial
from pathlib import Path

import pytest

from kafka_py.testing.transcripts import Story, main, rewritten, script_of, stories, told, written

FILES = sorted(Path(__file__).parent.glob("*/*.txt"))
STORIES = [
    pytest.param(path, story, id=f"{path.parent.name}/{path.stem}: {story.heading}")
    for path in FILES
    for story in stories(path.read_text())
]


@pytest.mark.parametrize(("path", "story"), STORIES)
def test_what_comes_of_the_commands_is_what_the_transcript_says(path: Path, story: Story) -> None:
    with script_of(path) as perform:
        assert told(story, perform) == written(story)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_that_is_right_stays_as_it_is_when_rewritten(path: Path) -> None:
    assert rewritten(path.read_text(), partial(script_of, path)) == path.read_text()


def test_a_file_that_is_wrong_is_shown_and_rewritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "groups" / "wrong.txt"
    path.parent.mkdir()
    path.write_text("# Preface\n\n## A story\n\n# nobody is here\nheartbeat a-1\n----\nNONE\n")
    assert main([str(path)]) == 1
    assert "+UNKNOWN_MEMBER_ID" in capsys.readouterr().out
    assert main(["--rewrite", str(path)]) == 0
    assert path.read_text() == "# Preface\n\n## A story\n\n# nobody is here\nheartbeat a-1\n----\nUNKNOWN_MEMBER_ID\n"
    assert main([str(path)]) == 0
