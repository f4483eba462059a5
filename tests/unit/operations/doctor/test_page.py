"""The page about the doctor names every finding, and no other."""

import ast
import re
from pathlib import Path

from kafka_py.operations.doctor import checks
from kafka_py.operations.doctor.checks.factors import INTERNAL

ID = re.compile(r"[a-z]+(?:-[a-z]+)+")
PAGE = Path(__file__).parents[4] / "docs" / "doctor.md"


def ids_in_checks() -> set[str]:
    """Every constant that has the form of an id, and those made of the names of internal topics."""
    found = {f"{word}-{end}" for word, *_ in INTERNAL.values() for end in ("factor", "factor-above-brokers")}
    for path in Path(checks.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ID.fullmatch(node.value):
                found.add(node.value)
    return found


def test_the_page_names_every_finding_and_no_other() -> None:
    table = PAGE.read_text().partition("### Findings")[2].partition("## ")[0]
    assert set(re.findall(rf"`({ID.pattern})`", table)) == ids_in_checks()
