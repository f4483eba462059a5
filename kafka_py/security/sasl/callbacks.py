"""A user's own functions in place of Java callback handlers: `package.module:function`.

Source: KIP-86, KIP-255 (callback handlers); docs/security.md.
"""

from __future__ import annotations

import importlib
from typing import Any

from kafka_py.base.errors import ConfigError


def load_callback(setting: str, path: str) -> Any:
    """What `package.module:name` names; a class is made without arguments. Raises ConfigError."""
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise ConfigError(
            f"Invalid value {path} for configuration {setting}: a Python function is expected, as package.module:name"
        )
    try:
        found = getattr(importlib.import_module(module), name)
        if isinstance(found, type):
            found = found()
    except Exception as error:
        raise ConfigError(f"Invalid value {path} for configuration {setting}: {error}") from error
    if not callable(found):
        raise ConfigError(f"Invalid value {path} for configuration {setting}: it cannot be called")
    return found
