"""The docstring of each package is its map: it names every file and every room, and nothing that is not there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent for path in (ROOT / "kafka_py").rglob("__init__.py"))
ONE_FILE_PER_API = {
    "kafka_py/wire/messages",
    *(f"kafka_py/broker/handlers/{room}" for room in ("admin", "brokers", "groups", "records")),
}
"""These need no list: a file is named as its API."""
ROW = re.compile(r"^ {4}(\S+(?:\.py|/)) {2,}(\S.*)$", re.MULTILINE)
MOST_WORDS = 10


def name_of(package: Path) -> str:
    return str(package.relative_to(ROOT))


def map_of(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""


def files_and_rooms(package: Path) -> set[str]:
    files = {path.name for path in package.glob("*.py")} - {"__init__.py"}
    return files | {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}


def mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w/]){re.escape(name)}", text) is not None


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_a_map_names_every_file_and_room_of_its_package(package: Path) -> None:
    if name_of(package) in ONE_FILE_PER_API:
        return
    text = map_of(package)
    assert [name for name in sorted(files_and_rooms(package)) if not mentions(text, name)] == []


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_every_file_that_a_map_names_exists(package: Path) -> None:
    named = set(re.findall(r"\b(\w+\.py)\b", map_of(package)))
    assert sorted(named - {path.name for path in (ROOT / "kafka_py").rglob("*.py")}) == []


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_a_map_that_is_a_list_has_one_short_line_for_each_file_and_no_other(package: Path) -> None:
    rows = ROW.findall(map_of(package))
    if not rows:
        return
    assert sorted(name for name, _ in rows) == sorted(files_and_rooms(package))
    assert [row for row in rows if len(row[1].split()) > MOST_WORDS] == []


def test_a_file_that_is_named_without_a_path_is_in_the_same_package() -> None:
    strangers = []
    for path in sorted((ROOT / "kafka_py").glob("*/**/*.py")):
        package = path.relative_to(ROOT / "kafka_py").parts[0]
        own = {each.name for each in (ROOT / "kafka_py" / package).rglob("*.py")}
        named = set(re.findall(r"(?<![\w/-])(\w+\.py)\b", path.read_text()))
        strangers += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(named - own)]
    assert strangers == []


def test_the_packages_that_have_rooms_under_a_contract_are_mapped_by_lists() -> None:
    contracts = re.findall(r"^containers = (kafka_py\.\w+)$", (ROOT / "setup.cfg").read_text(), re.MULTILINE)
    assert contracts
    for container in contracts:
        assert ROW.search(map_of(ROOT / container.replace(".", "/"))), container


def test_the_architecture_names_every_room() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    rows = dict(re.findall(r"^\| `([\w/]+)` \| (`\w+`.*) \|$", text, re.MULTILINE))
    for package in ("log", "replication", "controller", "broker", "clients/consumer", "testing"):
        named = set(re.findall(r"`(\w+)`", rows[package]))
        rooms = {name.rstrip("/") for name in files_and_rooms(ROOT / "kafka_py" / package) if name.endswith("/")}
        assert named == rooms, package
