"""Where the web manager's image starts: settings from environment variables, its first user, then the server.

`/etc/kafka/manager.toml`, where it is mounted, has the settings that no variable sets, and more than one cluster.
Everybody logs in: without users, a password in the environment and a provider ([oidc]), the first start makes an
administrator with a random password, in a file beside the users file.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.common.manager_process import serve_manager
from kafka_py.cli.container.broker import become_command, check_writable
from kafka_py.cli.container.manager_variables import PASSWORD, ManagerVariables, manager_values, variable_in
from kafka_py.cli.container.variables import read_secret
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile, is_password, new_user, write_private
from kafka_py.manager.settings import ManagerSettings, settings_of

MOUNTED = Path("/etc/kafka/manager.toml")
FIRST_PASSWORD = "first-password"
"""A file beside the users file."""
PASSWORD_BITS = 128


def read_manager_variables(environment: Mapping[str, str], mounted: Path = MOUNTED) -> ManagerVariables:
    """The settings of this container's manager. Raises ConfigError."""
    try:
        base = tomllib.loads(mounted.read_text(encoding="utf-8")) if mounted.exists() else {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{mounted} cannot be read: {error}") from None
    return manager_values(environment, base, read_secret)


def manager_settings(variables: ManagerVariables, mounted: Path = MOUNTED) -> ManagerSettings:
    """The same as the manager's own type. Raises ConfigError."""
    return settings_of(variables.values, mounted.parent)


def prepare_users(users: Path, name: str, password: str | None, chance: Chance) -> str | None:
    """Sees to it that somebody can log in; returns what to say about it.

    password: which the administrator `name` has from now on; None changes nothing where there are users, else a random
    one is written to a file. Raises CommandFailed.
    """
    file = UsersFile(users)
    try:
        known = file.users() if users.exists() else {}
        row = known.get(name)
        if password is None and known:
            return None
        if password is not None:
            is_there = row is not None and row.role is AccessRole.ADMINISTRATOR
            if row is None or not is_there or not is_password(password, row.password_hash):
                file.add(new_user(name, AccessRole.ADMINISTRATOR, password, chance))
            return None
        made = f"{chance.number(0, (1 << PASSWORD_BITS) - 1):032x}"
        beside = users.with_name(FIRST_PASSWORD)
        write_private(beside, f"{made}\n")
        file.add(new_user(name, AccessRole.ADMINISTRATOR, made, chance))
    except ValueError as error:
        raise CommandFailed(f"{PASSWORD}: {error}" if password is not None else str(error)) from None
    except OSError as error:
        raise CommandFailed(f"{users} cannot be written to: {error.strerror}") from None
    return f"There were no users: {name} is the administrator, with the password in {beside}."


def without_missing_users(settings: ManagerSettings, password: str | None) -> ManagerSettings:
    """The settings without a users file where that is not there, and nobody but users of a provider shall log in."""
    if settings.oidc is None or password is not None or settings.users is None or settings.users.exists():
        return settings
    return replace(settings, users=None)


def main(arguments: Sequence[str]) -> int:
    if arguments:
        return become_command(arguments, "the web manager")
    try:
        return _serve(os.environ)
    except ConfigError as error:
        variable = variable_in(error.message, os.environ)
        if variable is None or variable in error.message:
            raise
        raise ConfigError(f"{variable}: {error.message}") from None


def _serve(environment: Mapping[str, str]) -> int:
    variables = read_manager_variables(environment)
    settings = without_missing_users(manager_settings(variables), variables.password)
    assert settings.data is not None  # it has a default
    for variable in variables.ignored:
        print(f"{variable} is ignored: docs/containers.md has the variables of this image", file=sys.stderr, flush=True)
    check_writable([str(settings.data)])
    if settings.users is not None and (variables.password is not None or settings.oidc is None):
        said = prepare_users(settings.users, variables.administrator, variables.password, Chance())
        if said is not None:
            print(said, flush=True)
    serve_manager(settings)
    return 0


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
