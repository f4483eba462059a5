"""What the tests of the wire share: Kafka's own encodings and schemas, and random messages."""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import strategies as st

from kafka_py.wire.schema import Field, Message, Scalar, schema_of

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"

INTEGERS = {
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
}
SCALARS = INTEGERS | {
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.uuids(),
    "string": st.text(max_size=5) | st.integers(120, 140).map(lambda length: "x" * length),  # around one length byte
    "bytes": st.binary(max_size=5) | st.integers(120, 140).map(bytes),
    "records": st.binary(max_size=5) | st.lists(st.binary(max_size=5)).map(lambda parts: [*parts]),
}


def _strategy(cls: type[Message], version: int) -> st.SearchStrategy[Message]:
    """Messages that the version can carry: fields that it lacks keep their defaults."""
    present = [field for field in schema_of(cls).fields if version in field.versions]
    return st.builds(cls, **{field.name: _values(field, version) for field in present})


_messages = cast(Callable[[type[Message], int], st.SearchStrategy[Message]], cache(_strategy))


def _values(field: Field, version: int) -> st.SearchStrategy[Any]:
    element = field.element
    values = SCALARS[element.name] if isinstance(element, Scalar) else _messages(element, version)
    if field.is_array:
        values = st.lists(values, max_size=2)
    return st.none() | values if field.is_nullable(version) else values


@pytest.fixture(scope="session")
def messages() -> Callable[[type[Message], int], st.SearchStrategy[Message]]:
    """(class, version) -> a strategy for messages that the version can carry."""
    return _messages


@pytest.fixture(scope="session")
def golden_lines() -> dict[str, list[tuple[int, dict[str, Any], bytes]]]:
    """Message name -> (version, value, encoding) as Kafka's own classes write them, of 2.8.2 and of later APIs."""
    lines = defaultdict(list)
    with gzip.open(REFERENCE / "golden-messages.tsv.gz", "rt", encoding="utf-8") as file:
        text = file.read()
    for line in (text + (REFERENCE / "later-golden-messages.tsv").read_text(encoding="utf-8")).splitlines():
        name, version, value, encoded = line.split("\t")
        lines[name].append((int(version), json.loads(value), bytes.fromhex(encoded)))
    return lines


@pytest.fixture(scope="session")
def schema_table() -> list[tuple[str, ...]]:
    """The rows of Kafka's own schemas, as schema_rows.py describes them; the first names the columns.

    A message of a later release takes the place of the one of 2.8.2.
    """
    text = (REFERENCE / "messages.tsv").read_text(encoding="utf-8")
    _, *later = (REFERENCE / "later-messages.tsv").read_text(encoding="utf-8").splitlines()
    replaced = {line.partition("\t")[0] for line in later}
    kept = [line for line in text.splitlines() if line.partition("\t")[0] not in replaced]
    return [tuple(line.split("\t")) for line in [*kept, *later]]
