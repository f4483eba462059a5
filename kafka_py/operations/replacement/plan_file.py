"""The plan of a replacement: a TOML file with the commands that stop and start each broker of either make.

    [[broker]]
    id = 0
    apache   = { stop = "ssh host0 systemctl stop kafka",    start = "ssh host0 systemctl start kafka" }
    kafka_py = { stop = "ssh host0 systemctl stop kafka-py", start = "ssh host0 systemctl start kafka-py" }

A command runs in a shell and ends when it is done; a start command leaves the broker running behind it.
"""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple

MAKES = ("apache", "kafka_py")


class ReplacementRefused(Exception):
    """The replacement cannot begin or go on; the text says why, and what to do."""


class MakeCommands(NamedTuple):
    """Shell commands for one broker of one make. config: its server.properties where it can be read here, or None."""

    stop: str
    start: str
    config: str | None = None


class BrokerCommands(NamedTuple):
    """makes: by name, each of MAKES."""

    id: int
    makes: dict[str, MakeCommands]


def other_make(make: str) -> str:
    """The make that is replaced by this one."""
    return MAKES[1 - MAKES.index(make)]


def parse_plan(text: str, source: str) -> list[BrokerCommands]:
    """The brokers of a plan, in its order. source: for errors. Raises ReplacementRefused, which names the place."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ReplacementRefused(f"{source} is not TOML: {error}") from None
    rows = values.pop("broker", None)
    if values:
        raise ReplacementRefused(f"{source}: {', '.join(sorted(values))} is not known, only [[broker]] tables are")
    if not isinstance(rows, list) or not rows:
        raise ReplacementRefused(f"{source} has no [[broker]] table")
    brokers = [_broker(row, f"{source}, broker {number}") for number, row in enumerate(rows, 1)]
    ids = [broker.id for broker in brokers]
    for broker in brokers:
        if ids.count(broker.id) > 1:
            raise ReplacementRefused(f"{source}: there are several brokers with id = {broker.id}")
    return brokers


def _broker(row: Any, where: str) -> BrokerCommands:
    if not isinstance(row, dict):
        raise ReplacementRefused(f"{where} is no table")
    number = row.get("id")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ReplacementRefused(f"{where}: id must be a broker's id, not {number!r}")
    unknown = sorted(set(row) - {"id", *MAKES})
    if unknown:
        raise ReplacementRefused(f"{where}: {', '.join(unknown)} is not known: id, {' and '.join(MAKES)} are")
    return BrokerCommands(number, {make: _commands(row.get(make), f"{where}, {make}") for make in MAKES})


def _commands(row: Any, where: str) -> MakeCommands:
    if not isinstance(row, dict):
        raise ReplacementRefused(f"{where}: needs {{ stop = '...', start = '...' }}")
    unknown = sorted(set(row) - set(MakeCommands._fields))
    if unknown:
        raise ReplacementRefused(f"{where}: {', '.join(unknown)} is not known")
    for name in ("stop", "start"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise ReplacementRefused(f"{where}: {name} must be a command")
    config = row.get("config")
    if config is not None and not isinstance(config, str):
        raise ReplacementRefused(f"{where}: config must be the path of a server.properties")
    return MakeCommands(row["stop"], row["start"], config)
