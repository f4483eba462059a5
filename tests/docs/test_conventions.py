"""Module loggers, section marks and class names are as docs/architecture.md, Conventions, has them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"\s*#+ ?(?P<line>([-=~*_─—#])\2+.*)")
"""A comment that begins with a line of the same sign."""
OWN_LOGGER = re.compile(r"\s*[\w.]+ = logging\.getLogger\(__name__\)")
TWICE = {
    # One is the broker that this process is, the other Kafka's name for an address that clients know.
    "Node": ["kafka_py/broker/requests/node.py", "kafka_py/clients/metadata.py"],
}


def sources(*places: str) -> Iterator[tuple[str, str]]:
    for place in places:
        for path in sorted((ROOT / place).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text()


def test_the_logger_of_a_module_is_named_log_with_an_underscore() -> None:
    strange = []
    for path, text in sources("kafka_py", "tests", "benchmarks"):
        for number, line in enumerate(text.splitlines(), 1):
            if OWN_LOGGER.match(line) and not line.startswith("_log = "):
                strange.append(f"{path}:{number}: {line.strip()}")
    assert strange == []


def test_a_section_is_marked_by_four_dashes_and_a_few_words() -> None:
    strange = []
    for path, text in sources("kafka_py", "tests", "benchmarks"):
        for number, line in enumerate(text.splitlines(), 1):
            mark = MARK.match(line)
            if mark and not re.fullmatch(r"---- \S(.*[^-\s])?", mark["line"]):
                strange.append(f"{path}:{number}: {line.strip()}")
    assert strange == []


def test_a_class_name_means_one_thing() -> None:
    """Outside the messages, whose names are those of Kafka's schemas."""
    places: dict[str, list[str]] = {}
    for path, text in sources("kafka_py"):
        if not path.startswith("kafka_py/wire/messages/"):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name.lstrip("_"), []).append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == TWICE
