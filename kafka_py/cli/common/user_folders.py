"""Where a user's settings, data and caches are: the folders that the XDG Base Directory Specification names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_DEFAULTS = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_CACHE_HOME": ".cache"}


def user_folder(variable: str, environment: Mapping[str, str]) -> Path:
    """The folder kafka_py in the one that an XDG variable names, or in its default."""
    return Path(environment.get(variable) or os.path.expanduser(f"~/{_DEFAULTS[variable]}"), "kafka_py")


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """What is worth keeping between runs: KAFKA_PY_CACHE, else kafka_py in the user's cache folder."""
    given = environment.get("KAFKA_PY_CACHE")
    return Path(given) if given else user_folder("XDG_CACHE_HOME", environment)
