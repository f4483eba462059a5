"""What tools list and describe as JSON or YAML, for programs: the option `--output`, and both texts.

Our own addition: without the option a tool prints what Apache Kafka's prints. The YAML is a subset that needs no
library: mappings and lists in blocks, texts plain where that is safe, else as in JSON. Source: RFC 8259.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kafka_py.cli.common.command import CommandParser

FORMATS = ("json", "yaml")
_PLAIN = re.compile(r"[A-Za-z_/][\w./-]*")
_WORDS_WITH_A_MEANING = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}
_NOT_PRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def output_option(table: CommandParser) -> None:
    """The row --output."""
    table.option(
        "--output", "Print lists and descriptions as JSON or YAML. Apache Kafka does not have this option.",
        choices=FORMATS,
    )  # fmt: skip


def print_document(value: Any, form: str) -> None:
    """Prints dicts, lists, texts, numbers and None in one of FORMATS."""
    print(json.dumps(value, indent=2, ensure_ascii=False) if form == "json" else yaml_text(value))


def yaml_text(value: Any) -> str:
    """The document without a line end."""
    return "\n".join(_block(value, ""))


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _entry(f"{indent}{_scalar(str(name))}:", each, f"{indent}  ")
    elif isinstance(value, list | tuple) and value:
        for each in value:
            lines = list(_block(each, f"{indent}  "))
            yield f"{indent}- {lines[0].lstrip(' ')}"
            yield from lines[1:]
    else:
        yield f"{indent}{_scalar(value)}"


def _entry(name: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list | tuple) and value:
        yield name
        yield from _block(value, indent)
    else:
        yield f"{name} {_scalar(value)}"


def _scalar(value: Any) -> str:
    """A value on one line; empty mappings and lists as in JSON."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.isascii() and value.lower() not in _WORDS_WITH_A_MEANING:
            return value
        return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))
    return json.dumps(value)
