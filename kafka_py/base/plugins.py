"""A user's own classes, named in settings by their dotted path: policies, interceptors, partitioners, serializers.

Knows nothing of what they are for; who loads one says which methods it must have.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.base.texts import one_line

_MOST_REASON = 500
"""Characters of what a user's class says."""


def load_class(setting: str, name: str) -> Any:
    """What `package.module.Class` names. Raises ConfigError with the setting's name when there is no such thing."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        problem = f"Invalid value {name} for configuration {setting}: Class {name} could not be found."
        raise ConfigError(problem) from None
    except Exception as error:
        raise _unusable(setting, name, "imported", error) from error


def find_class(path: str, methods: Iterable[str]) -> Any | None:
    """What has that dotted path, if there is such a thing and it has these methods."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        return None
    return found if all(callable(getattr(found, method, None)) for method in methods) else None


def make_plugin(setting: str, wanted: Any, methods: Iterable[str], configs: Mapping[str, Any]) -> Any:
    """An object that has these methods, and was given `configs` if it has `configure` as well.

    wanted: the dotted path of a class, a class (made without arguments), or an object as it is.
    Raises ConfigError for a class that cannot be found or made, for missing methods, and for what `configure` raises.
    """
    made = load_class(setting, wanted) if isinstance(wanted, str) else wanted
    if isinstance(made, type):
        try:
            made = made()
        except Exception as error:
            raise _unusable(setting, wanted, "made", error) from error
    missing = [method for method in methods if not callable(getattr(made, method, None))]
    if missing:
        without = " and no ".join(missing)
        raise ConfigError(f"Invalid value {wanted} for configuration {setting}: it has no method {without}")
    configure = getattr(made, "configure", None)
    if configure is not None:
        try:
            configure(configs)
        except Exception as error:
            raise _unusable(setting, wanted, "configured", error) from error
    return made


def _unusable(setting: str, wanted: Any, what: str, error: Exception) -> ConfigError:
    said = error.detail if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
    reason = one_line(said, _MOST_REASON)
    return ConfigError(f"Invalid value {wanted} for configuration {setting}: it cannot be {what}: {reason}")
