"""What MkDocs calls while it builds the site: the navigation, the pages made of tables, diagrams as lists.

A page of `docs/` that navigation.py does not know is shown under "More", so a new page needs no change here.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import command_page
import metric_page
import navigation
import protocol_pages
import setting_pages
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
COPIED = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
"""Pages of the site whose source is at the top of the repository."""
MADE_OF_TABLES: dict[str, Callable[[], str]] = {
    "tables/broker-settings.md": setting_pages.broker_page,
    "tables/topic-settings.md": setting_pages.topic_page,
    "tables/client-settings.md": setting_pages.client_page,
    "tables/metrics.md": metric_page.metric_page,
    "tables/errors.md": protocol_pages.error_page,
    "tables/apis.md": protocol_pages.api_page,
    "tables/commands.md": command_page.command_page,
}
PROGRAM_LINK = re.compile(r"\]\(((?:examples/)?\w+)\.py\)")
DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOVE = re.compile(r"^\s+(\w+) --> (\w+)$", re.MULTILINE)


@cache
def generated_pages() -> dict[str, str]:
    """Path in the site -> Markdown, of the pages that no file in docs/ has."""
    pages = {name: (ROOT / source).read_text() for name, source in COPIED.items()}
    for program in sorted(DOCS.glob("examples/*.py")):
        pages[f"examples/{program.stem}.md"] = f"# {program.name}\n\n```python\n{program.read_text()}```\n"
    return pages | {path: make() for path, make in MADE_OF_TABLES.items()}


def on_config(config: Any) -> Any:
    written = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    config.nav = navigation.arranged(written | set(generated_pages()))
    return config


def on_files(files: Files, config: Any) -> Files:
    for path, text in generated_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page as the site shows it: links to programs lead to the pages made of them."""
    if page.file.src_uri.startswith("reference/"):
        page.meta["search"] = {"boost": 0.2}  # what users read is found before it
    return PROGRAM_LINK.sub(r"](\1.md)", DIAGRAM.sub(lambda match: moves_table(match[1]), markdown))


def moves_table(diagram: str) -> str:
    """A state diagram as a table: what draws diagrams would be fetched from the web by every reader."""
    moves: dict[str, list[str]] = {}
    for source, target in MOVE.findall(diagram):
        moves.setdefault(source, []).append(f"`{target}`")
    rows = [f"| `{source}` | {', '.join(targets)} |" for source, targets in moves.items()]
    return "\n".join(["| from | to |", "|---|---|", *rows])
