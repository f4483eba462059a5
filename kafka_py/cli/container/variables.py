"""Environment variables as settings: what a value is, and where it is a file's content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kafka_py.base.errors import ConfigError

FILE = "_FILE"
"""`KAFKA_X_FILE=/run/secrets/x` gives KAFKA_X the content of that file, so that no secret is in the environment."""

ReadSecret = Callable[[str, str], str]
"""(variable, path) -> the file's content without the line's end. Raises ConfigError."""


def read_secret(variable: str, path: str) -> str:
    """The content of the file that a variable names. Raises ConfigError naming both."""
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{variable}={path}: that file cannot be read: {reason}") from None


def given_values(environment: Mapping[str, str], prefixes: Sequence[str], read: ReadSecret) -> dict[str, str]:
    """Variables that begin with one of the prefixes, those with _FILE replaced by what their file has.

    An empty variable counts as not set, as compose files leave it. Raises ConfigError.
    """
    found: dict[str, str] = {}
    for variable in sorted(environment):
        value = environment[variable]
        if not value.strip() or not variable.startswith(tuple(prefixes)):
            continue
        name = variable.removesuffix(FILE)
        if name in found or (name != variable and environment.get(name, "").strip()):
            raise ConfigError(f"{name} and {name}{FILE} are both set: leave one of them out")
        found[name] = value if name == variable else read(variable, value)
    return found
