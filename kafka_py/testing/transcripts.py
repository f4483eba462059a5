"""Scenarios as text: what is done, and what comes of it, in files that a person can read and a program can write.

    ## A member that leaves is out at once

    # why this matters, if that is not plain
    leave a-1
    ----
    leave 3 answered: NONE

A story begins with its heading, in a world of its own. In it, paragraphs hold commands, a line of four hyphens, and
what the commands led to. `python -m kafka_py.testing.transcripts [--rewrite] FILE...` runs files and shows, or with
`--rewrite` writes, what they should say: a change of behaviour is then a change of text, to be reviewed as such.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

RULE = "----"
_HEADING = "## "

Perform = Callable[[str], Iterable[str]]
"""Does what one command line says; the lines that tell what came of it, none of them empty."""


class Story(NamedTuple):
    """heading: its first line, without the marks. paragraphs: of lines, as they are in the file."""

    heading: str
    paragraphs: list[list[str]]


def stories(text: str) -> list[Story]:
    """The stories of a file, in order. Raises ValueError for text before the first heading that is no comment."""
    found: list[Story] = []
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.strip("\n").split("\n")
        if lines[0].startswith(_HEADING):
            found.append(Story(lines[0][len(_HEADING) :], []))
        elif found:
            found[-1].paragraphs.append(lines)
        elif not all(line.startswith("#") for line in lines):
            raise ValueError(f"text before the first heading: {lines[0]}")
    return found


def told(story: Story, perform: Perform) -> str:
    """The story as it should be: its commands and comments, with what comes of them now."""
    parts = [_HEADING + story.heading]
    for lines in story.paragraphs:
        commands = lines[: lines.index(RULE)] if RULE in lines else lines
        outcome = [line for command in commands if not command.startswith("#") for line in perform(command)]
        is_comment = all(command.startswith("#") for command in commands)
        parts.append("\n".join(commands if is_comment else [*commands, RULE, *outcome]))
    return "\n\n".join(parts)


def written(story: Story) -> str:
    """The story as it is in the file."""
    return "\n\n".join([_HEADING + story.heading, *("\n".join(lines) for lines in story.paragraphs)])


def rewritten(text: str, world: Callable[[], AbstractContextManager[Perform]]) -> str:
    """The whole file as it should be. world: makes one for each story."""
    preface = text[: text.find(_HEADING)].strip()
    parts = [preface] if preface else []
    for story in stories(text):
        with world() as perform:
            parts.append(told(story, perform))
    return "\n\n".join(parts) + "\n"


@contextmanager
def script_of(path: Path) -> Iterator[Perform]:
    """A new world for a story of this file: its folder says what it is about."""
    from kafka_py.testing.fakes.controller_transcripts import ControllerScript
    from kafka_py.testing.fakes.group_transcripts import GroupScript
    from kafka_py.testing.fakes.replica_transcripts import ReplicaScript
    from kafka_py.testing.fakes.transaction_transcripts import TransactionScript

    scripts: dict[str, Callable[[], ControllerScript | GroupScript | ReplicaScript | TransactionScript]] = {
        "controller": ControllerScript,
        "groups": GroupScript,
        "replication": ReplicaScript,
        "transactions": TransactionScript,
    }
    script = scripts[path.resolve().parent.name]()
    try:
        yield script.perform
    finally:
        if isinstance(script, ReplicaScript):
            script.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a file does not say what comes of its commands, unless it was rewritten."""
    parser = argparse.ArgumentParser(prog="python -m kafka_py.testing.transcripts", description=__doc__)
    parser.add_argument("--rewrite", action="store_true", help="write what the files should say")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    differs = False
    for path in options.files:
        text = path.read_text()
        wanted = rewritten(text, partial(script_of, path))
        if options.rewrite:
            path.write_text(wanted)
        elif wanted != text:
            differs = True
            sys.stdout.writelines(
                difflib.unified_diff(text.splitlines(True), wanted.splitlines(True), str(path), "as it is now")
            )
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
