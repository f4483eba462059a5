"""The code blocks of the documentation pages, and which of them a test has to run.

A block of shell commands or Python is run as it stands, unless its title says who runs it otherwise, as in
`title="Run by tests/docker/test_compose.py"`, or why nothing can, as in `title="Not run: ..."`. The site
shows the title.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from kafka_py.testing.processes import ROOT

DOCS = ROOT / "docs"
COMMANDS = ("bash", "python")
RUN_ELSEWHERE = {
    "clients.md": "tests/docs/test_snippets.py",
    "testing-with-kafka_py.md": "tests/docs/test_snippets.py",
    "migration.md": "tests/compat/brokers/test_migration_page.py",
    "pipeline.md": "tests/cluster/pipeline/test_page.py",
}
"""Pages whose blocks are run by a test other than tests/docs/test_pages.py."""
SHOWN = ("properties", "text", "toml", "yaml", "ini", "json", "mermaid")
"""Languages of files and of what programs print; in such a block there are no commands."""
FENCE = re.compile(r'^```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """line: of the page, in which the code begins. title: empty if the page's own test runs it."""

    page: Path
    line: int
    language: str
    title: str
    code: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """What users read; docs/reference/ has facts, and no commands."""
    return [*sorted(DOCS.glob("*.md")), DOCS / "examples" / "README.md"]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    found = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(page, line, match["language"], match["title"] or "", match["code"]))
    return found


def commands_of(page: Path) -> list[Block]:
    """The blocks that a test of the page runs, in the order of the page."""
    return [block for block in blocks_of(page) if block.language in COMMANDS and not block.title]
