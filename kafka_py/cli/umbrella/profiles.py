"""Named profiles: the clusters of a user with their client settings, for every tool that `kafka-py` runs.

    # ~/.config/kafka_py/profiles.toml (KAFKA_PY_PROFILES names another file)
    default = "local"

    [local]
    "bootstrap.servers" = "localhost:9092"

A tool gets the servers as its option and the other settings as its file of client settings, under those of a file that
was given by hand. Without a profile it gets the cluster of `kafka-py up`, if that runs, as its administrator.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafka_py.base.properties import format_properties, read_properties
from kafka_py.cli.common.command import CommandFailed
from kafka_py.cli.common.user_folders import user_folder
from kafka_py.cli.umbrella.tool_names import ToolConnection

FILE_VARIABLE = "KAFKA_PY_PROFILES"
NAME_VARIABLE = "KAFKA_PY_PROFILE"
SERVERS = "bootstrap.servers"
LOCAL = "local"
"""The cluster of `kafka-py up`, unless the file has a profile of this name."""
EXPLAINING = {"--help", "--version"}


def profiles_file(environment: Mapping[str, str]) -> Path:
    """Where the profiles are, whether or not there are any."""
    given = environment.get(FILE_VARIABLE)
    return Path(given) if given else user_folder("XDG_CONFIG_HOME", environment) / "profiles.toml"


def read_profiles(path: Path) -> tuple[str | None, dict[str, dict[str, str]]]:
    """The default's name and all profiles, as settings. Raises CommandFailed for a file that is not as it should be."""
    try:
        text = path.read_text()
        import tomllib

        values = tomllib.loads(text)
    except FileNotFoundError:
        return None, {}
    except (OSError, ValueError) as error:
        raise CommandFailed(f"{path} cannot be read: {error}") from None
    default = values.pop("default", None)
    for name, settings in values.items():
        if not isinstance(settings, dict):
            raise CommandFailed(f"{path}: {name} must be a section of settings, [{name}]")
    profiles = {name: dict(_settings(settings)) for name, settings in values.items()}
    if default is not None and default not in profiles:
        raise CommandFailed(f"{path}: the default is {default!r}, but there is no section of that name")
    return default, profiles


def _settings(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """`bootstrap.servers = ...` without quotes is a nested table in TOML; its name is meant all the same."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield f"{prefix}{name}", ",".join(map(str, value))
        else:
            yield f"{prefix}{name}", str(value).lower() if isinstance(value, bool) else str(value)


def settings_for(name: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Of the named profile, else KAFKA_PY_PROFILE's, the default, the running local cluster. Raises CommandFailed."""
    path = profiles_file(environment)
    default, profiles = read_profiles(path)
    wanted = name or environment.get(NAME_VARIABLE) or default
    if wanted is None or (wanted == LOCAL and wanted not in profiles):
        return _local_cluster(environment)
    if wanted not in profiles:
        known = f"there are {', '.join(sorted(profiles))}" if profiles else "there are none"
        raise CommandFailed(f"There is no profile {wanted} in {path}: {known}")
    return profiles[wanted]


def _local_cluster(environment: Mapping[str, str]) -> dict[str, str]:
    from kafka_py.cli.local_cluster import layout, state  # not for who has a profile

    folder = layout.default_folder(environment)
    if not (folder / layout.FILE).exists() or not state.running(folder):
        return {}
    cluster = layout.read_existing(folder)
    return {**layout.client_settings(folder, cluster), SERVERS: cluster.bootstrap_servers}


def take_name(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The value of --profile, wherever it is, and the other words. Raises CommandFailed."""
    name, rest = None, []
    given = iter(words)
    for word in given:
        if word == "--profile":
            name = next(given, None)
            if name is None:
                raise CommandFailed("--profile needs the name of a profile")
        elif word.startswith("--profile="):
            name = word.partition("=")[2]
        else:
            rest.append(word)
    return name, rest


def with_settings(words: Sequence[str], tool: ToolConnection, settings: Mapping[str, str]) -> list[str]:
    """The words of a tool's command line, with the settings of a profile where they do not say otherwise."""
    given = {word.partition("=")[0] for word in words}
    if not (words or tool.is_bare) or not settings or given & (EXPLAINING | tool.instead):
        return list(words)
    added, rest = [], list(words)
    if tool.servers and tool.servers not in given and SERVERS in settings:
        added += [tool.servers, settings[SERVERS]]
    others = {name: value for name, value in settings.items() if name != SERVERS or not tool.servers}
    if tool.config and others:
        own, rest = _take_option(rest, tool.config)
        added += [tool.config, _in_memory({**others, **(read_properties(own) if own else {})})]
    return [*rest[: tool.place], *added, *rest[tool.place :]]


def _take_option(words: Sequence[str], name: str) -> tuple[str | None, list[str]]:
    rest = list(words)
    for index, word in enumerate(rest):
        if word == name and index + 1 < len(rest):
            return rest[index + 1], rest[:index] + rest[index + 2 :]
        if word.startswith(f"{name}="):
            return word.partition("=")[2], rest[:index] + rest[index + 1 :]
    return None, rest


def _in_memory(settings: Mapping[str, str]) -> str:
    """The path of a property file that only this process sees, for there may be passwords in it."""
    descriptor = os.memfd_create("profile")
    os.write(descriptor, format_properties(settings).encode())
    return f"/proc/self/fd/{descriptor}"
