"""The pages of settings, made of the tables of options: what each one is, and what differs from Apache Kafka 2.8.2."""

import csv
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from page_text import cell, code, page, table

from kafka_py.base.options import Kind, Live, Option, OptionTable, text_of_value
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.configs import ClientOptions
from kafka_py.clients.consumer.configs import ConsumerOptions
from kafka_py.clients.producer.configs import ProducerOptions
from kafka_py.log.model.configs import LogConfig

REFERENCE = Path(__file__).parents[1] / "reference" / "configs.tsv"
HEAD = ("setting", "type, default", "allowed", "what it does")
CHANGES = {
    Live.READ_ONLY: "",
    Live.PER_BROKER: "May change while the broker runs.",
    Live.CLUSTER_WIDE: "May change while brokers run, for one or for all.",
}
CHECKED = "Values are checked at the start; a wrong one ends it with a line that names the setting and what is allowed."


def apaches(scope: str) -> dict[str, dict[str, str]]:
    """The settings of Apache Kafka 2.8.2 in a scope of docs/reference/configs.tsv, by name."""
    with REFERENCE.open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["name"]: row for row in rows if row["scope"] == scope}


def default_of(row: Option[Any]) -> str:
    """As in a property file; words where there is none, or only an empty one."""
    if row.required:
        return "must be set"
    if row.default is None:
        return "unset"
    return code(text_of_value(row.kind, row.default) or "") or "empty"


def remarks(row: Option[Any], *, is_apaches: bool, meaning: str) -> Iterator[str]:
    """What is said of a setting, sentence by sentence."""
    yield cell(meaning or row.about)
    if row.topic:
        yield f"Of one topic: {code(row.topic)}."
    yield CHANGES[row.live]
    if row.deprecated:
        yield "Deprecated."
    if row.no_effect:
        yield f"**No effect here**: {cell(row.no_effect)}."
    if not is_apaches:
        yield "**Not a setting of Apache Kafka 2.8.2.**"


def setting(row: Option[Any], scope: dict[str, dict[str, str]], meaning: str = "") -> tuple[str, ...]:
    """One line of a table of settings."""
    said = " ".join(filter(None, remarks(row, is_apaches=row.name in scope, meaning=meaning)))
    kind = "list" if row.kind is Kind.LIST else row.kind.name.lower()
    return code(row.name), f"{kind}, {default_of(row)}", code(row.check.text if row.check else ""), said


def sections(whole: type[OptionTable], scope: dict[str, dict[str, str]]) -> Iterator[str]:
    """A heading and a table for each class that declares some of the settings."""
    for declaring in whole.__mro__:
        rows = [value for value in vars(declaring).values() if isinstance(value, Option)]
        rows = [row for row in rows if whole.ROWS.get(row.name) is row]
        if rows:
            title = (inspect.getdoc(declaring) or declaring.__name__).partition("\n")[0].partition(". ")[0].rstrip(".")
            yield f"## {title}\n\n{table(HEAD, [setting(row, scope) for row in rows])}"


def broker_page() -> str:
    scope = apaches("broker")
    return page(
        "Settings of a broker",
        f"All {len(BrokerConfig.ROWS)} settings of `server.properties`, among them every one of Apache Kafka 2.8.2 "
        f"({len(scope)}) with its name, type and default. {CHECKED} `kafka-py check` finds mistakes before that.",
        "A setting with the prefix `listener.name.<listener>.` holds for that listener; settings of SASL may name "
        "the mechanism behind that. See [security](../security.md).",
        *sections(BrokerConfig, scope),
    )


def topic_page() -> str:
    scope = apaches("topic")
    of_brokers = {row.topic: row for row in BrokerConfig.ROWS.values() if row.topic}
    rows = []
    for row in LogConfig.ROWS.values():
        broker = of_brokers.get(row.name)
        meaning = row.about or (broker.about if broker else "")
        line = setting(row, scope, meaning)
        rows.append((*line[:3], code(broker.name) if broker else "", line[3]))
    return page(
        "Settings of a topic",
        f"All {len(rows)} settings of Apache Kafka 2.8.2. A topic without a value of its own has the broker's. All of "
        "them may change at any time.",
        table((*HEAD[:3], "the broker's", HEAD[3]), rows),
    )


def shared_by_all(clients: Iterable[type[OptionTable]]) -> set[str]:
    """The names whose rows are those of every client."""
    return {name for name, row in ClientOptions.ROWS.items() if all(each.ROWS[name] is row for each in clients)}


def client_page() -> str:
    clients = {"producer": ProducerOptions, "consumer": ConsumerOptions, "admin client": AdminOptions}
    shared = shared_by_all(clients.values())
    parts = []
    for name, options in clients.items():
        scope = apaches(name.partition(" ")[0])
        rows = [setting(row, scope) for row in options.ROWS.values() if row.name not in shared]
        parts.append(f"## Settings of the {name}\n\n{table(HEAD, rows)}")
    scope = apaches("producer") | apaches("consumer") | apaches("admin")
    rows = [setting(row, scope) for row in ClientOptions.ROWS.values() if row.name in shared]
    return page(
        "Settings of the clients",
        "Names, types and defaults are those of the Java clients of Apache Kafka 2.8.2. "
        "[The Python clients](../clients.md) shows their use; the data source of [Spark](../pipeline.md) takes them "
        "with `kafka.` in front.",
        *parts,
        f"## Settings of every client\n\n{table(HEAD, rows)}",
    )
