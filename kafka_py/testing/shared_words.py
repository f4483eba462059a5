"""Which of our sentences have a run of words in common with another program's: runs are compared, not sentences.

A run is RUN_LENGTH words in a row, in small letters, within one piece of a text: `%s` and `{}` end a piece, as what is
put in there differs. The other program's runs may be given as digests, so that they can be kept without its words.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

RUN_LENGTH = 7
DIGEST_BYTES = 5

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'._-]*")
_HOLE = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[sdrfxXc]|\{\d?\}")


class Sentence(NamedTuple):
    """A text of ours. file: from the repository's root; text: of a Python string or a line of another file."""

    file: str
    line: int
    text: str


def digests_of(text: str) -> Iterator[bytes]:
    """The digest of every run of words in a text."""
    for piece in _HOLE.split(text):
        words = [word.strip("'._-").lower() for word in _WORD.findall(piece)]
        for first in range(len(words) - RUN_LENGTH + 1):
            run = " ".join(words[first : first + RUN_LENGTH])
            yield hashlib.blake2b(run.encode(), digest_size=DIGEST_BYTES).digest()


def digests_of_all(texts: Iterable[str]) -> set[bytes]:
    """The digests of many texts."""
    return {digest for text in texts for digest in digests_of(text)}


def pack(digests: Collection[bytes]) -> bytes:
    """As they are kept in a file: sorted, one behind the other."""
    return b"".join(sorted(digests))


def unpack(data: bytes) -> frozenset[bytes]:
    """What `pack` made."""
    return frozenset(data[at : at + DIGEST_BYTES] for at in range(0, len(data), DIGEST_BYTES))


def sentences_of_python(root: Path, folder: str) -> Iterator[Sentence]:
    """The string constants of all modules below a folder, docstrings left out."""
    for path in sorted((root / folder).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        alone = {node.value for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
                yield Sentence(str(path.relative_to(root)), node.lineno, node.value)


def sentences_of_lines(root: Path, folder: str) -> Iterator[Sentence]:
    """The lines of all text files below a folder."""
    for path in sorted((root / folder).rglob("*")):
        if path.is_file() and path.suffix not in (".pyc",):
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                yield Sentence(str(path.relative_to(root)), number, line)


def shared(sentences: Iterable[Sentence], digests: Collection[bytes]) -> list[Sentence]:
    """The sentences with a run that is among the digests."""
    return [each for each in sentences if any(digest in digests for digest in digests_of(each.text))]
