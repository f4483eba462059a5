"""Settings of the clients behind the console and performance tools, gathered from command line and files.

Precedence: an option that was given, then key=value pairs, then the property file, then the option's default.
Source: docs/reference/tools.md, sections 12 to 15.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import UsageError


def pairs(arguments: Iterable[str] | None, option: str) -> dict[str, str]:
    """`key=value` arguments in order, a later one winning; the value is used unchanged, blanks and `=` included.

    `key` and `key=` both mean the empty value. Raises UsageError when there is no key.
    """
    result = {}
    for argument in arguments or ():
        key, _, value = argument.partition("=")
        if not key.strip():
            raise UsageError(f"Invalid value {argument!r} for --{option}: it must have the form key=value")
        result[key.strip()] = value
    return result


def properties_of(file: str | None, given: Iterable[str] | None, option: str) -> dict[str, str]:
    """The file's properties with the pairs given by `option` over them. Raises ConfigError for a bad file."""
    return {**(read_properties(file) if file is not None else {}), **pairs(given, option)}


def merge_options(properties: dict[str, str], options: argparse.Namespace, rows: Mapping[str, str]) -> None:
    """Puts options into properties.

    rows: property name -> option attribute. An option's default is used only where the property is not set; an
    option without default that was not given changes nothing.
    """
    given: set[str] = getattr(options, "given", set())
    for name, attribute in rows.items():
        value = getattr(options, attribute)
        if value is not None and (attribute in given or name not in properties):
            properties[name] = str(value)


def is_true(properties: Mapping[str, str], name: str, default: bool = False) -> bool:
    """A property as a yes or no: `true` in any case is yes, all else no."""
    value = properties.get(name)
    return default if value is None else value.strip().lower() == "true"
