"""The settings of one property file against the table of their kind: every finding, not only the first.

Of a name that is given twice the last value counts, as in Java. Source: docs/reference/configs.tsv.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import OptionTable
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.broker.settings.java_classes import class_warnings
from kafka_py.broker.settings.protections import AUTHORIZER_SETTINGS, PROTECTIONS
from kafka_py.cli.config_check.contradictions import CONTRADICTIONS
from kafka_py.cli.config_check.file_kinds import KINDS, others_with
from kafka_py.cli.config_check.findings import ConfigFinding, Gravity

CLOSE_ENOUGH = 0.75
SERVERS = "bootstrap.servers"


def check(pairs: Sequence[tuple[int, str, str]], kind: str) -> list[ConfigFinding]:
    """All findings, by line. pairs: line, name and value, as in the file."""
    if pairs and not any(name in KINDS[kind].ROWS for _, name, _ in pairs):
        return [ConfigFinding(Gravity.ERROR, 0, f"none of its names is a setting of the {kind}")]
    lines = {name: line for line, name, _ in pairs}
    given = {name: value for _, name, value in pairs}
    table = KINDS[kind]
    found = [*_repeated(pairs), *_unknown(given, lines, kind), *_values(given, lines, table)]
    if not any(finding.gravity is Gravity.ERROR for finding in found):
        found += _together(given, lines, kind)
    return sorted(found, key=lambda finding: finding.line)


def _repeated(pairs: Sequence[tuple[int, str, str]]) -> Iterator[ConfigFinding]:
    first: dict[str, int] = {}
    for line, name, _ in pairs:
        if name in first:
            text = f"{name} is set in line {first[name]} as well: only this one counts"
            yield ConfigFinding(Gravity.WARNING, line, text)
        first[name] = line


def _unknown(given: Mapping[str, str], lines: Mapping[str, int], kind: str) -> Iterator[ConfigFinding]:
    """Names that no setting has; a broker reads some that are in no table (BrokerConfig.unknown_settings)."""
    names = [name for name in given if name not in KINDS[kind].ROWS]
    if kind == "server":
        read_elsewhere = {*PROTECTIONS, *(AUTHORIZER_SETTINGS if given.get("authorizer.class.name") else ())}
        names = [name for name in names if not name.startswith("listener.name.") and name not in read_elsewhere]
    for name in names:
        hint = nearest(name, kind)
        yield ConfigFinding(Gravity.WARNING, lines[name], f"there is no setting {name}" + (f": {hint}" if hint else ""))


def nearest(name: str, kind: str) -> str:
    """What was probably meant; "" if nothing is near."""
    rows = KINDS[kind].ROWS
    of_topics = [row.name for row in rows.values() if row.topic == name]
    if of_topics:
        return f"that is a topic's name for what brokers call {of_topics[0]}"
    near = get_close_matches(name, rows, n=1, cutoff=CLOSE_ENOUGH)
    if near and near[0].lower() == name.lower().replace("_", ".").replace("-", "."):
        return f"it is called {near[0]}"
    others = others_with(name, kind)
    if others:
        return f"it is a setting of the {others[0]}, this file is one of the {kind}"
    return f"did you mean {near[0]}?" if near else ""


def _values(given: Mapping[str, str], lines: Mapping[str, int], table: type[OptionTable]) -> Iterator[ConfigFinding]:
    """Each value against its row."""
    for name, value in given.items():
        row = table.ROWS.get(name)
        if row is None:
            continue
        try:
            row.parse(value)
        except ConfigError as error:
            yield ConfigFinding(Gravity.ERROR, lines[name], str(error.message))
        if row.no_effect:
            yield ConfigFinding(Gravity.NOTE, lines[name], f"{name} has no effect here: {row.no_effect}")
        elif row.deprecated:
            yield ConfigFinding(Gravity.NOTE, lines[name], f"{name} is deprecated; it still works")


def _together(given: Mapping[str, str], lines: Mapping[str, int], kind: str) -> Iterator[ConfigFinding]:
    """What is wrong between settings each of which could be."""
    table = KINDS[kind]
    complete = dict(given)
    if kind != "server" and not given.get(SERVERS, "").strip():
        complete[SERVERS] = "localhost:9092"  # often given to the tool, not in its file
    try:
        config = table.parse(complete)
        if isinstance(config, BrokerConfig):
            config.connect_string()
    except ConfigError as error:
        text = str(error.message)
        yield ConfigFinding(Gravity.ERROR, _line_of(text, lines), text)
        return
    if isinstance(config, BrokerConfig):
        for text in [*class_warnings(config.originals), *config.unprotected()]:
            yield ConfigFinding(Gravity.WARNING, _line_of(text, lines), text)
    for contradiction in CONTRADICTIONS:
        if contradiction.kind == kind and contradiction.names & given.keys() and contradiction.is_met(config):
            yield ConfigFinding(Gravity.WARNING, _line_of(contradiction.text, lines), contradiction.text)


def _line_of(text: str, lines: Mapping[str, int]) -> int:
    """The last line of those whose settings the text names; 0 if it names none."""
    words = set(text.replace(":", " ").replace(",", " ").replace("=", " ").split())
    return max((line for name, line in lines.items() if name in words), default=0)
