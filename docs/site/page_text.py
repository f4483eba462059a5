"""Markdown of the generated pages: tables, and text that is safe in their cells."""

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Text for a cell of a table: on one line, without a bar that would end the cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def code(text: str) -> str:
    """Text in the type of code, for a cell; empty text stays empty."""
    return f"`{' '.join(text.split())}`".replace("|", "\\|") if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are Markdown already."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"
