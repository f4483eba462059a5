"""The documents of docs/reference against the tables beside them and against the code: names, defaults, states."""

import csv
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest

from kafka_py.base.moves import Moves
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.coordinator.groups import states as group_states
from kafka_py.wire.protocol_versions import NAMES, InterBrokerVersion

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
DOCUMENTS = [path for path in sorted(REFERENCE.glob("*.md")) if path.name != "README.md"]

NOT_SETTINGS = re.compile(
    r"^(listener\.name\.|cluster\.id$|meta\.properties$|partition\.metadata$|server\.properties$|zookeeper\.properties$|kafka\.tools\."
    r"|.*\.(tsv|md|sh|gz|log|index|timeindex|txnindex|snapshot|deleted|cleaned|swap|tmp)$)"
)
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "day": 86_400_000, "days": 86_400_000}
SETTING = re.compile(r"`([a-z][a-z0-9]*(?:\.[a-z0-9]+)+)`(?: \(?([\d.]*\d)(?: ([A-Za-z]+))?)?")


def rows(table: str) -> list[dict[str, str]]:
    with (REFERENCE / table).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def table_of(document: str, columns: str) -> Iterator[list[str]]:
    """The cells of the table whose heading begins with these columns."""
    lines = iter((REFERENCE / document).read_text().splitlines())
    for line in lines:
        if line.startswith(f"| {columns} |"):
            next(lines)
            break
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_settings_that_are_named_exist_with_that_default(path: Path) -> None:
    defaults: dict[str, set[str]] = {}
    for row in rows("configs.tsv"):
        defaults.setdefault(row["name"], set()).add(row["default"])
    faults = []
    for name, number, unit in SETTING.findall(re.sub(r"\s+", " ", path.read_text())):
        value = number if "." in number or not number else str(int(number) * UNITS.get(unit, 1))
        if NOT_SETTINGS.match(name):
            continue
        if name not in defaults:
            faults.append(f"no setting {name}")
        elif number and value not in defaults[name]:
            faults.append(f"{name} is {defaults[name]}, not {number} {unit}")
    assert faults == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_error_codes_that_are_named_exist(path: Path) -> None:
    known = {row["name"] for table in ("errors.tsv", "later-errors.tsv") for row in rows(table)}
    others = re.compile(r"KAFKA_(\w+_)?OPTS|LOG_DIR|JMX_PORT|JAVA_HOME|CLUSTER_ACTION|NO_HEADERS")
    named = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", path.read_text()))
    assert sorted(each for each in named - known if not others.fullmatch(each)) == []


def test_versions_between_brokers() -> None:
    names = {"older": "0.8.0"}
    for name, *numbers in table_of("protocol.md", "IBP | LeaderAndIsr | UpdateMetadata | StopReplica"):
        version = InterBrokerVersion(names.get(name, name))
        assert [str(each) for each in version.requests] == numbers, name
    for name, *numbers in table_of("protocol.md", "IBP | follower's Fetch"):
        version = InterBrokerVersion(names.get(name, name))
        assert [str(each) for each in version.follower_requests] == numbers, name


def test_the_names_of_releases() -> None:
    text = re.sub(r"\s+", " ", (REFERENCE / "protocol.md").read_text())
    listed = text.partition("`ApiVersion`: ")[2].partition(". A name")[0]
    found: list[str] = []
    for each in listed.split(", "):
        found.append(each if each[0] != "-" else found[-1].partition("-")[0] + each)
    assert found == list(NAMES)


def words(state: Enum) -> str:
    return "".join(part.capitalize() for part in state.name.split("_"))


def legal(moves: Moves, among: type[Enum]) -> set[tuple[str, str]]:
    """(from, to), by the names that Apache Kafka gives to states."""
    return {(words(before), words(after)) for after in among for before in moves.before(after)}


def test_the_states_of_groups() -> None:
    states = [words(each) for each in group_states.GroupState]
    listed = {(before, after) for after, came_from, *_ in table_of("groups.md", "state | entered from | meaning")
              for before in (states if came_from == "any" else came_from.split(", "))}  # fmt: skip
    assert listed == legal(group_states.MOVES, group_states.GroupState)


@pytest.mark.parametrize(
    ("moves", "among", "suffix"),
    [
        (partition_states.MOVES, partition_states.PartitionState, "Partition"),
        (replica_states.MOVES, replica_states.ReplicaState, "Replica"),
    ],
)
def test_the_states_of_partitions_and_replicas(moves: Moves, among: type[Enum], suffix: str) -> None:
    listed = set()
    for line in (REFERENCE / "controller.md").read_text().splitlines():
        row = re.match(rf"\| ((?:\w+{suffix})|{suffix}Deletion\w+) \| ([\w, ]+) \|", line)
        if row:
            after = row[1].removeprefix(suffix).removesuffix(suffix)
            listed |= {(before, after) for before in row[2].split(", ")}
    assert listed == legal(moves, among)
