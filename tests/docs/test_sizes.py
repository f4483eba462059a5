"""No file, function or folder is larger than a reader takes in at once; what is larger for a reason is listed here."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60
MOST_FILES_OF_A_FOLDER = 25
"""Besides the `__init__.py` that is its map."""
PLACES = ("kafka_py", "tests", "benchmarks", "bin", "config", "docs")

TABLES = {
    "kafka_py/wire/messages": "one file per API",
    "bin": "one script per command",
    "docs": "one page per subject, arranged by docs/site/navigation.py",
}
LONG_FUNCTIONS = {
    "kafka_py/clients/producer/accumulator.py: append": "runs for every record that is sent; a call would cost more",
    "kafka_py/records/filtering.py: outline_records": "the loop of compaction over every record, varints in line",
    "kafka_py/records/record.py: parse_some": "the loop that reads every record, with its varints in line",
    "kafka_py/records/survey.py: advance": "the loop that walks over every record, with its varints in line",
}


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "kafka_py").rglob("*.py")):
        yield str(path.relative_to(ROOT)), path.read_text()


def test_no_file_has_more_lines_than_a_reader_takes_in() -> None:
    counts = {path: len(text.splitlines()) for path, text in sources()}
    assert {path: count for path, count in counts.items() if count > MOST_LINES_OF_A_FILE} == {}


def test_no_function_has_more_lines_than_a_screen() -> None:
    long = set()
    for path, text in sources():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                if node.end_lineno - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION:
                    long.add(f"{path}: {node.name}")
    assert long == set(LONG_FUNCTIONS)


def test_no_folder_has_more_files_than_a_reader_looks_through() -> None:
    counts: Counter[str] = Counter()
    for place in PLACES:
        for path in (ROOT / place).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and path.name != "__init__.py":
                counts[str(path.parent.relative_to(ROOT))] += 1
    large = {folder for folder, count in counts.items() if count > MOST_FILES_OF_A_FOLDER}
    assert large == set(TABLES)
