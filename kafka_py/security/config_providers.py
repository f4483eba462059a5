"""Config providers: values of settings that are kept elsewhere, as `${file:/path/to/secrets.properties:key}` (KIP-297).

One pass over each value, several references in one; a reference that cannot be resolved stays as it is.
Source: KIP-297, KIP-421; ConfigTransformer, FileConfigProvider, DirectoryConfigProvider.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from kafka_py.base.errors import ConfigError
from kafka_py.base.plugins import make_plugin
from kafka_py.base.properties import parse_properties

_log = logging.getLogger(__name__)

PROVIDERS = "config.providers"
_PACKAGE = "org.apache.kafka.common.config.provider."


class Provider(Protocol):
    """Where values come from. A user's own is a Python class of the name `package.module.Class`."""

    def get(self, path: str) -> Mapping[str, str]:
        """All values at that path. Raises ConfigError."""
        ...


class FileProvider:
    """Values in a property file."""

    def get(self, path: str) -> Mapping[str, str]:
        if not path:
            return {}
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"Could not read properties from file {path}") from None
        return parse_properties(text, path)


class DirectoryProvider:
    """Values in files of their own: a directory is the path, a file's name the key, its whole content the value."""

    def get(self, path: str) -> Mapping[str, str]:
        if not path:
            return {}
        folder = Path(path)
        if not folder.is_dir():
            _log.warning("The path %s of a config provider is not a directory", path)
            return {}
        return _FilesOfDirectory(folder)


class _FilesOfDirectory(Mapping[str, str]):
    """The contents of a directory's files; those that nothing refers to are not read, for they may be no texts."""

    def __init__(self, folder: Path) -> None:
        self._files = {file.name: file for file in folder.iterdir() if file.is_file()}

    def __getitem__(self, name: str) -> str:
        file = self._files[name]
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ConfigError(f"Could not read file {file} for property {name}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


_BUILT_IN: dict[str, type[Provider]] = {
    f"{_PACKAGE}FileConfigProvider": FileProvider,
    f"{_PACKAGE}DirectoryConfigProvider": DirectoryProvider,
}


def resolved(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with all references replaced by their values. Raises ConfigError."""
    providers = _providers(properties)
    if not providers:
        return dict(properties)
    found: dict[tuple[str, str], Mapping[str, str]] = {}

    def value_of(reference: str, name: str, path: str, key: str) -> str:
        provider = providers.get(name)
        if provider is None:
            return reference
        try:
            values = found.get((name, path))
            if values is None:
                values = found[name, path] = provider.get(path)
            value = values.get(key)
        except ConfigError:
            raise
        except Exception as error:
            # what a user's class says may quote what it has read
            problem = f"{PROVIDERS}.{name} cannot give a value for {reference}: {type(error).__name__}"
            raise ConfigError(problem) from error
        return reference if value is None else str(value)

    return {
        name: _replaced(value, value_of) if isinstance(value, str) and not name.startswith(PROVIDERS) else value
        for name, value in properties.items()
    }


def _replaced(text: str, value_of: Callable[[str, str, str, str], str]) -> str:
    """The text with each `${name:path:key}` or `${name:key}` replaced.

    value_of: (the reference, name, path, key) -> what replaces it. Not by a regular expression: for a long text of
    colons, which a client may write into a dynamic setting, that would take hours.
    """
    pieces: list[str] = []
    position = 0
    while (start := text.find("${", position)) >= 0 and (end := text.find("}", start)) >= 0:
        reference = text[start : end + 1]
        name, is_reference, rest = reference[2:-1].partition(":")
        path, has_path, key = rest.partition(":")
        if is_reference:
            given = (path, key) if has_path else ("", rest)
            pieces += [text[position:start], value_of(reference, name, *given)]
        else:
            pieces.append(text[position : end + 1])
        position = end + 1
    return "".join([*pieces, text[position:]])


def _providers(properties: Mapping[str, Any]) -> dict[str, Provider]:
    """Raises ConfigError."""
    names = [name.strip() for name in str(properties.get(PROVIDERS) or "").split(",") if name.strip()]
    providers: dict[str, Provider] = {}
    for name in names:
        prefix = f"{PROVIDERS}.{name}."
        wanted = str(properties.get(f"{prefix}class") or "")
        if not wanted:
            raise ConfigError(f"Missing required configuration {prefix}class: {PROVIDERS} names {name}")
        parameters = f"{prefix}param."
        given = {key.removeprefix(parameters): value for key, value in properties.items() if key.startswith(parameters)}
        providers[name] = make_plugin(f"{prefix}class", _BUILT_IN.get(wanted, wanted), ("get",), given)
    return providers
