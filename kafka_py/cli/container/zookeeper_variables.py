"""Settings of a ZooKeeper server from the ZOO_... variables that ZooKeeper's well-known image has. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.cli.container.variables import ReadSecret, given_values

PREFIX = "ZOO_"
DATA = "/var/lib/zookeeper"
CLIENT_PORT = "2181"
MY_ID = "ZOO_MY_ID"
SERVERS = "ZOO_SERVERS"
EXTRA = "ZOO_CFG_EXTRA"

SETTINGS = {
    "ZOO_DATA_DIR": ("dataDir", DATA),
    "ZOO_DATA_LOG_DIR": ("dataLogDir", ""),
    "ZOO_TICK_TIME": ("tickTime", "2000"),
    "ZOO_INIT_LIMIT": ("initLimit", "10"),
    "ZOO_SYNC_LIMIT": ("syncLimit", "5"),
    "ZOO_MAX_CLIENT_CNXNS": ("maxClientCnxns", "0"),
    "ZOO_AUTOPURGE_PURGEINTERVAL": ("autopurge.purgeInterval", "24"),
    "ZOO_AUTOPURGE_SNAPRETAINCOUNT": ("autopurge.snapRetainCount", "3"),
    "ZOO_STANDALONE_ENABLED": ("standaloneEnabled", "true"),
    "ZOO_ADMINSERVER_ENABLED": ("admin.enableServer", "false"),
    "ZOO_4LW_COMMANDS_WHITELIST": ("4lw.commands.whitelist", "srvr"),
}
"""variable -> setting and value where it is not set; an empty value leaves the setting out."""

_SERVER = re.compile(r"server\.(?P<number>\d+)=(?P<address>[^;\s]+)(;(?P<client>\S+))?")


class ZookeeperVariables(NamedTuple):
    """number: the own one in an ensemble, None for a server that is alone. ignored: variables with no meaning here."""

    settings: dict[str, str]
    number: int | None
    ignored: list[str]


def zookeeper_settings(environment: Mapping[str, str], read: ReadSecret) -> ZookeeperVariables:
    """What the variables say. Raises ConfigError."""
    given = given_values(environment, [PREFIX], read)
    settings = {name: given.get(variable, default) for variable, (name, default) in SETTINGS.items()}
    settings = {name: value for name, value in settings.items() if value}
    members = _members(given.get(SERVERS, ""))
    number = _own_number(given.get(MY_ID), members)
    settings["clientPort"] = CLIENT_PORT if number is None else _client_port(members[number])
    if number is not None:
        settings["quorumListenOnAllIPs"] = "true"  # the own name may not be known yet when the server starts
        settings |= {f"server.{each}": match["address"] for each, match in members.items()}
    settings |= _extra(given.get(EXTRA, ""))
    return ZookeeperVariables(settings, number, sorted(given.keys() - SETTINGS.keys() - {MY_ID, SERVERS, EXTRA}))


def _members(servers: str) -> dict[int, re.Match[str]]:
    members = {}
    for word in servers.replace(",", " ").split():
        match = _SERVER.fullmatch(word)
        if match is None:
            raise ConfigError(f"{SERVERS}: {word!r} does not have the form server.1=host:2888:3888;2181")
        members[int(match["number"])] = match
    return members


def _own_number(my_id: str | None, members: Mapping[int, object]) -> int | None:
    if not members:
        return None  # alone: a number changes nothing
    known = ", ".join(map(str, sorted(members)))
    if my_id is None or not my_id.strip().isdigit():
        raise ConfigError(f"{SERVERS} lists the servers {known}: set {MY_ID} to the number of this one")
    if int(my_id) not in members:
        raise ConfigError(f"{MY_ID}={my_id.strip()} is not among the servers {known} of {SERVERS}")
    return int(my_id)


def _client_port(member: re.Match[str]) -> str:
    return (member["client"] or CLIENT_PORT).rpartition(":")[2]


def _extra(text: str) -> dict[str, str]:
    """`name=value name=value`"""
    pairs = [word.partition("=") for word in text.split()]
    if wrong := [place for place, (_, equals, _) in enumerate(pairs, 1) if not equals]:
        # Not the word itself: it may be a part of a password with a blank in it.
        raise ConfigError(f"{EXTRA}: word {wrong[0]} does not have the form name=value")
    return {name: value for name, _, value in pairs}
