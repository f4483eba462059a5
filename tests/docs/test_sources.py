"""Every `Source:` of a docstring, and every id of a worked example, leads to something that a reader can open.

A source is a list of items with `;` between them: a file of the repository, with its section or heading; KIPs; classes
of Apache Kafka, its libraries or the JDK; or a standard of the list below. Parentheses may say what is taken from it.
"""

import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kafka_py.testing.peers import apache

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("kafka_py", "tests", "benchmarks", "bin", "docs")
TEXTS = {".py", ".sh", ".md", ".java", ".txt", ""}

STANDARDS = (
    r"RFC \d+(, sections? [\d.]+((, | and )[\d.]+)*)?",
    r"OpenID Connect (Core|Discovery|RP-Initiated Logout) 1\.0(, sections? [\d.]+((, | and )[\d.]+)*)?",
    r"JEP \d+",
    r"the ZooKeeper (programmer's|command line) guide",
    r"the Java Virtual Machine Specification, chapter [\d.]+",
    r"the text exposition format [\d.]+ of Prometheus",
    r"(Prometheus'|Grafana's|kafka_exporter's) documentation, [A-Z][\w ]+",
    r"the example rules of its JMX exporter and those of Strimzi for percentages and attributes",
    r"Spark's Structured Streaming \+ Kafka integration guide",
    r"PySpark's Python Data Source API",
)
WHAT_TESTS_DO = ("a test compares the two row by row", "a test compares each row with the message declarations")
ONE_WORD = "Duration|Histogram|Meter|Metadata|Rate|Selector|Sender|Timer"
CLASS = rf"(([A-Z][a-z]+){{2,}}|Kafka(CSV)?[A-Z]\w+|Log\.append|[A-Z]\w+\.[a-z]\w+|{ONE_WORD})(\.[a-z]\w+)?"
OF = (
    r"( (of|in) (Apache Kafka 2\.8\.2|the Java (clients?|producer|consumer)"
    r"|the JDK|yammer metrics|log4j 1\.2|Scala 2\.13))?"
)
CLASSES = rf"{CLASS}((, | and ){CLASS})*{OF}( and their neighbours|, as Apache's commands print it)?"
KIPS = r"KIP-\d+((, | and )KIP-\d+)*"
FILE = re.compile(r'(?P<path>[\w./-]+/[\w./-]*\w)(?P<place>, (section|scope)s? [\w, ]+|, "[^"]+")?')

STATEMENT = re.compile(r'(?<!-> )(?<!class )\bSource:\s+(?P<items>.+?)\.(?=\s|"""|$)', re.DOTALL)
ELSEWHERE = re.compile(r"docs/reference/[\w-]+\.md, sections? \d+(?:, \d+)*(?: (?:and|to) \d+)?(?:, \d+)*(?: and \d+)?")
EXAMPLE = re.compile(r"\b(?:S[1-4]-\d{3}|W[5-8]\.\d+|WE[1-4]-\d+|X-\d{3})[a-z]?\b")
ABSENT = re.compile(
    r"(?:(?:controller|group|transaction|zookeeper|replication) (?:facts|reference)\b"
    r"|reference,? (?:replication|formats|tools|groups|zookeeper|controller|configs? table|metrics table|apis table)"
    r"|\((?:controller|formats|groups|replication|tools|zookeeper), sections?|\bthe book\b|\bBook \d"
    r"|\(spec [A-Z]+\d|\bthe spec's|Source: (?:the )?(?:design|protocol guide)"
    r"|(?<![/\w-])(?:zookeeper|controller|replication|formats)\.md,? sections?)",
    re.IGNORECASE,
)


@cache
def files() -> list[tuple[str, str]]:
    """Path and text of whatever may cite, without this file."""
    found = []
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*")):
            if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts and path != Path(__file__):
                found.append((str(path.relative_to(ROOT)), path.read_text(errors="replace")))
    return found


def sources() -> Iterator[tuple[str, str]]:
    """(file, source) without what stands in parentheses, on one line."""
    for path, text in files():
        if path.startswith("docs/reference/"):
            continue
        for each in STATEMENT.finditer(text):
            items = re.sub(r"\s+", " ", re.sub(r"\s*\([^()]*\)", "", each["items"]))
            yield path, items


def sections(numbers: str) -> list[int]:
    """`2, 4 to 6 and 9` -> [2, 4, 5, 6, 9]"""
    found: list[int] = []
    for part in re.split(r", | and ", numbers):
        first, _, last = part.partition(" to ")
        found += range(int(first), int(last or first) + 1)
    return found


@cache
def headings(path: str) -> frozenset[str]:
    return frozenset(line.lstrip("#").strip() for line in (ROOT / path).read_text().splitlines() if line[:1] == "#")


def fault_of_file(path: str, place: str) -> str | None:
    """What is wrong with a citation of a file: `place` is empty, or begins with a comma."""
    place = place.removeprefix(", ")
    if not (ROOT / path).exists():
        return f"no such file: {path}"
    if place.startswith("section"):
        known = {heading.partition(".")[0] for heading in headings(path)}
        missing = [each for each in sections(place.split(" ", 1)[1]) if str(each) not in known]
        return f"{path} has no section {missing}" if missing else None
    if place.startswith('"') and place.strip('"') not in headings(path):
        return f"{path} has no heading {place}"
    if path.startswith("docs/reference/") and path.endswith(".md") and not place:
        return f"which section of {path}?"
    return None


def fault_of(item: str) -> str | None:
    """What is wrong with one item of a source."""
    if item in WHAT_TESTS_DO or any(re.fullmatch(each, item) for each in (*STANDARDS, KIPS, CLASSES)):
        return None
    if cited := FILE.fullmatch(item):
        return fault_of_file(cited["path"], cited["place"] or "")
    mixed = [part for part in re.split(r", (?=[A-Z])", item) if part != item]
    if mixed and not any(map(fault_of, mixed)):
        return None
    return f"neither file, KIP, class nor standard: {item}"


def test_every_source_can_be_opened() -> None:
    faults = [f"{path}: {why}" for path, items in sources() for item in items.split("; ") if (why := fault_of(item))]
    assert faults == []
    assert len(list(sources())) > 300


def test_every_section_that_is_named_anywhere_exists() -> None:
    faults = []
    for path, text in files():
        for each in ELSEWHERE.finditer(re.sub(r"\s*\n[\s#*]*", " ", text)):
            file, _, place = each[0].partition(",")
            if fault := fault_of_file(file, "," + place):
                faults.append(f"{path}: {fault}")
    assert faults == []


def test_the_reference_documents_lead_to_one_another() -> None:
    link = re.compile(r"\[([\w-]+\.md)\]\(([\w-]+\.md)\), sections? (\d+(?:, \d+)*(?: (?:and|to) \d+)?)")
    faults = []
    for path in sorted((ROOT / "docs/reference").glob("*.md")):
        for name, target, numbers in link.findall(re.sub(r"\s*\n\s*", " ", path.read_text())):
            fault = fault_of_file(f"docs/reference/{target}", f", sections {numbers}")
            faults += [f"{path.name}: {fault}"] if fault or name != target else []
    assert faults == []


def test_every_worked_example_is_in_the_table() -> None:
    rows = [line.split("\t") for line in (ROOT / "docs/reference/examples.tsv").read_text().splitlines()]
    assert rows[0] == ["id", "shows"]
    assert all(len(row) == 2 and row[1].strip() for row in rows)
    known = {row[0] for row in rows[1:]}
    assert len(known) == len(rows) - 1
    cited = {(path, each) for path, text in files() for each in EXAMPLE.findall(text)}
    assert sorted((path, each) for path, each in cited if each not in known) == []


def test_no_text_cites_what_is_not_in_the_repository() -> None:
    faults = [
        f"{path}: {each[0]}"
        for path, text in files()
        if not path.startswith("docs/reference/")
        for each in ABSENT.finditer(re.sub(r"\s+", " ", text))
    ]
    assert faults == []


def test_the_classes_that_are_named_are_apaches() -> None:
    try:
        jars = apache.apache_kafka()
    except apache.Unavailable as why:
        pytest.skip(str(why))
    known = {"SimpleDateFormat", "HashMap", "HashSet"}  # of the JDK and of Scala
    for jar in jars.directory.glob("*.jar"):
        with zipfile.ZipFile(jar) as classes:
            known.update(re.split(r"[/$.]", name)[-2] for name in classes.namelist() if name.endswith(".class"))
    named = {(path, each) for path, items in sources() for item in items.split("; ")
             if not FILE.fullmatch(item) and re.fullmatch(CLASSES, item)
             for each in re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", item)}  # fmt: skip
    assert sorted((path, each) for path, each in named if each not in known) == []


@pytest.mark.parametrize(
    "item",
    [
        "reference replication, section 6",
        "docs/reference/log.md",
        "docs/reference/log.md, section 99",
        "docs/reference/log.md, sections 3 to 99",
        "docs/nowhere.md, section 1",
        'docs/architecture.md, "Nothing of the kind"',
        "the sender of the Java producer",
        "KIP-",
    ],
)
def test_what_cannot_be_opened_is_a_fault(item: str) -> None:
    assert fault_of(item) is not None
