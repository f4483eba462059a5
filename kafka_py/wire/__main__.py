"""`python -m kafka_py.wire`: prints what is declared, for people and for checks against Kafka's own schemas."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from uuid import UUID

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import uuid_to_text
from kafka_py.wire import messages
from kafka_py.wire.apis import APIS
from kafka_py.wire.compiler import check_version
from kafka_py.wire.decoding import DecoderSource
from kafka_py.wire.encoding import EncoderSource
from kafka_py.wire.schema import NEWEST, Field, Message, Scalar, schema_of


def message_classes() -> Iterator[type[Message]]:
    """Every request, response, header and piece of data, in order of name."""
    found: dict[str, type[Message]] = {}
    for module in iter_modules(messages.__path__):
        for value in vars(import_module(f"{messages.__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Message) and value.__schema__.kind != "struct":
                found[value.__name__] = value
    yield from (found[name] for name in sorted(found))


def describe(cls: type[Message], newest: int = NEWEST) -> dict[str, Any]:
    """One message under the keys of Kafka's schema files. newest: the highest version that is described."""
    schema = schema_of(cls)
    versions = schema.versions._replace(high=min(schema.versions.high, newest))
    row: dict[str, Any] = {} if schema.api is None else {"apiKey": int(schema.api)}
    row |= {"type": schema.kind, "name": schema.name, "validVersions": str(versions)}
    row["flexibleVersions"] = "none" if schema.flexible is None else f"{schema.flexible}+"
    row["fields"] = _describe_fields(cls, newest)
    return row


def _describe_fields(cls: type[Message], newest: int) -> list[dict[str, Any]]:
    return [_describe_field(field, newest) for field in schema_of(cls).fields if field.versions.low <= newest]


def _describe_field(field: Field, newest: int) -> dict[str, Any]:
    is_scalar = isinstance(field.element, Scalar)
    kind = field.element.name if isinstance(field.element, Scalar) else field.element.__name__
    row: dict[str, Any] = {
        "name": "".join(word.capitalize() for word in field.name.split("_")),
        "type": f"[]{kind}" if field.is_array else kind,
        "versions": str(field.versions),
    }
    if field.null_versions is not None:
        row["nullableVersions"] = str(field.null_versions)
    if field.tag is not None:
        row |= {"tag": field.tag, "taggedVersions": str(field.tag_versions)}
    if field.ignorable:
        row["ignorable"] = True
    if field.default is None:
        row["default"] = "null"
    elif is_scalar and not field.is_array:
        row["default"] = _default_text(field)
    if isinstance(field.element, type):
        row["fields"] = _describe_fields(field.element, newest)
    return row


def _default_text(field: Field) -> str:
    if isinstance(field.default, bytes):
        return field.default.decode()
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return uuid_to_text(field.default) if isinstance(field.default, UUID) else str(field.default)


def _print_descriptions(options: argparse.Namespace) -> None:
    for cls in message_classes():
        if not options.names or cls.__name__ in options.names:
            print(json.dumps(describe(cls, _served(cls))))


def _served(cls: type[Message]) -> int:
    """The highest version that the broker serves; clients may know later ones."""
    api = schema_of(cls).api
    return NEWEST if api is None or api not in APIS else APIS[api].max_version


def _print_source(options: argparse.Namespace) -> None:
    cls = next((c for c in message_classes() if c.__name__ == options.name), None)
    if cls is None:
        sys.exit(f"no message is called {options.name}; `describe` lists all")
    try:
        check_version(cls, options.version)
    except KafkaError as error:
        sys.exit(error.detail)
    for source in (DecoderSource(cls, options.version), EncoderSource(cls, options.version)):
        print(source.write().text)


def _print_apis(options: argparse.Namespace) -> None:
    for api in APIS.values():
        flexible = "-" if api.flexible_from is None else str(api.flexible_from)
        print(f"{api.key.value:3} {api.name:30} {api.min_version}-{api.max_version}  flexible from {flexible}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m kafka_py.wire", description="What the wire protocol is made of.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("describe", help="every message as one line of JSON, spelled as Kafka's schemas")
    command.add_argument("names", nargs="*", metavar="NAME", help="only these messages, such as FetchRequest")
    command.set_defaults(run=_print_descriptions)
    command = commands.add_parser("source", help="the decoder and encoder that are made for one version of a message")
    command.add_argument("name", metavar="NAME", help="such as FetchRequest")
    command.add_argument("version", metavar="VERSION", type=int)
    command.set_defaults(run=_print_source)
    command = commands.add_parser("apis", help="the APIs that the broker advertises, with their versions")
    command.set_defaults(run=_print_apis)
    options = parser.parse_args(arguments)
    options.run(options)


if __name__ == "__main__":
    main()
