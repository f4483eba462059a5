"""Settings of the web manager from KAFKA_MANAGER_... variables, as its settings file would have them. Pure.

`KAFKA_MANAGER_SESSION_IDLE_MINUTES` is session_idle_minutes, `KAFKA_MANAGER_HISTORY_RETENTION_DAYS` is retention_days
of [history], and so for [oidc]. `KAFKA_MANAGER_BOOTSTRAP_SERVERS` names one cluster; settings of its clients have the
form of a broker's: `KAFKA_MANAGER_CLIENT_SASL_MECHANISM` is sasl.mechanism. Further clusters are in the file.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafka_py.base.errors import ConfigError
from kafka_py.cli.container.broker_variables import OF_KUBERNETES, setting_of
from kafka_py.cli.container.variables import FILE, ReadSecret, given_values
from kafka_py.manager.identity.oidc.settings import KINDS as KINDS_OF_OIDC
from kafka_py.manager.identity.oidc.settings import SECTION as OIDC
from kafka_py.manager.settings import LISTS, PATHS, PLAIN

PREFIX = "KAFKA_MANAGER_"
DATA = "/var/lib/kafka/manager"
DEFAULTS = {"host": "0.0.0.0", "users": f"{DATA}/users", "data": DATA}
"""Where neither a variable nor the file says otherwise: reached from outside the container, and everybody logs in."""

ADMINISTRATOR = PREFIX + "ADMINISTRATOR"
PASSWORD = PREFIX + "ADMINISTRATOR_PASSWORD"
DEFAULT_ADMINISTRATOR = "admin"

BOOTSTRAP_SERVERS = PREFIX + "BOOTSTRAP_SERVERS"
CLIENT = PREFIX + "CLIENT_"
CLUSTER = {PREFIX + "CLUSTER": "name", BOOTSTRAP_SERVERS: "bootstrap_servers", PREFIX + "ZOOKEEPER": "zookeeper"}
DEFAULT_CLUSTER = "cluster"
HISTORY = "history"
NAMES_OF_FILES = tuple(PREFIX + name.upper() for name in (*PATHS, f"{OIDC}_ca_certificate"))
"""With _FILE the content of a key or of a users file would be taken for its name, and be in the message about it."""


def variable_in(message: str, environment: Mapping[str, str]) -> str | None:
    """The variable that set what a message about a setting is about; None where no variable did."""
    found = []
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or not text.strip() or variable.endswith(FILE):
            continue
        section, _, rest = name.partition("_")
        is_of_section = section in (HISTORY, OIDC) and bool(rest) and f"[{section}]" in message
        place = re.search(rf"\b{re.escape(rest if is_of_section else name)}\b", message)
        if place is not None and (is_of_section or name in (*PATHS, *PLAIN, *LISTS)):
            found.append((not is_of_section, place.start(), variable))
    return min(found)[-1] if found else None


class ManagerVariables(NamedTuple):
    """values: as the settings file has them. password: the administrator's; None: not given. ignored: variables."""

    values: dict[str, Any]
    administrator: str
    password: str | None
    ignored: list[str]


def manager_values(environment: Mapping[str, str], base: Mapping[str, Any], read: ReadSecret) -> ManagerVariables:
    """What the variables say, on top of `base`, the content of a mounted settings file. Raises ConfigError."""
    for variable in NAMES_OF_FILES:
        if environment.get(variable + FILE, "").strip():
            raise ConfigError(f"{variable}{FILE}: the value of {variable} is a path itself: leave {FILE} out")
    given = given_values(environment, [PREFIX], read)
    given = {name: value for name, value in given.items() if not _is_of_kubernetes(name, value)}
    administrator = given.pop(ADMINISTRATOR, DEFAULT_ADMINISTRATOR)
    password = given.pop(PASSWORD, None)
    values: dict[str, Any] = {**DEFAULTS, **base}
    cluster = _cluster(given)
    if cluster is not None:
        values["cluster"] = [cluster, *values.get("cluster", [])]
    ignored = []
    for variable, text in given.items():
        name = variable.removeprefix(PREFIX).lower()
        section, _, rest = name.partition("_")
        if name in LISTS:
            values[name] = _list(text)
        elif name in PATHS or PLAIN.get(name) is str:
            values[name] = text
        elif name in PLAIN:
            values[name] = _typed(variable, text, PLAIN[name])
        elif section in (HISTORY, OIDC) and rest:
            kind = KINDS_OF_OIDC.get(rest) if section == OIDC else None
            value = _list(text) if kind is list else text if kind is str else _plain(text)
            values[section] = {**values.get(section, {}), rest: value}
        elif variable not in CLUSTER and not variable.startswith(CLIENT):
            ignored.append(variable)
    return ManagerVariables(values, administrator, password, ignored)


def _is_of_kubernetes(variable: str, value: str) -> bool:
    """Set for a service that is called kafka-manager."""
    return bool(OF_KUBERNETES.fullmatch(variable)) or (variable == PREFIX + "PORT" and "://" in value)


def _cluster(given: Mapping[str, str]) -> dict[str, Any] | None:
    """The cluster of KAFKA_MANAGER_BOOTSTRAP_SERVERS. Raises ConfigError for what would belong to it without it."""
    of_it = [variable for variable in given if variable in CLUSTER or variable.startswith(CLIENT)]
    if not of_it:
        return None
    if BOOTSTRAP_SERVERS not in given:
        raise ConfigError(f"{of_it[0]} is set without {BOOTSTRAP_SERVERS}, whose cluster it is about")
    properties = {
        setting_of(f"KAFKA_{variable.removeprefix(CLIENT)}"): given[variable]
        for variable in of_it if variable.startswith(CLIENT)
    }  # fmt: skip
    named = {CLUSTER[variable]: given[variable] for variable in of_it if variable in CLUSTER}
    return {"name": DEFAULT_CLUSTER, **named, "properties": properties}


def _typed(variable: str, text: str, kind: type) -> Any:
    found = _plain(text)
    if type(found) is not kind:
        what = "true or false" if kind is bool else "a whole number"
        raise ConfigError(f"{variable} is {what}, not {text!r}")
    return found


def _plain(text: str) -> bool | int | float | str:
    """The text as a number, or as true or false, where it is one."""
    word = text.strip().lower()
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(word)
    return text


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
