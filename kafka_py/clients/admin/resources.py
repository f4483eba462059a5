"""Resources that have settings, and one setting of a resource.

Source: KIP-133, KIP-226, KIP-569; DescribeConfigsResponse (codes of types and sources).
"""

from __future__ import annotations

import enum
from typing import NamedTuple, Self


class ConfigResourceType(enum.IntEnum):
    """The type of a resource; the numbers are those of the protocol."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class ConfigResource(NamedTuple):
    """A topic, a broker (its id as text, "" for the cluster-wide default), or a broker's loggers."""

    type: ConfigResourceType
    name: str


class ConfigSource(enum.IntEnum):
    """The source of a value; the numbers are those of the protocol."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6

    @classmethod
    def of(cls, code: int) -> Self:
        """The source with that number, UNKNOWN for an unknown one."""
        return cls(code) if code in cls._value2member_map_ else cls(0)


class ConfigType(enum.IntEnum):
    """The type of a setting's value; the numbers are those of the protocol."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @classmethod
    def of(cls, code: int) -> Self:
        """The type with that number, UNKNOWN for an unknown one."""
        return cls(code) if code in cls._value2member_map_ else cls(0)


class ConfigSynonym(NamedTuple):
    """A value of the setting with its source; synonyms are in order of precedence."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One setting of one resource; the value of a sensitive one is None."""

    name: str
    value: str | None
    source: ConfigSource
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    type: ConfigType = ConfigType.UNKNOWN
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


class AlterOperation(enum.IntEnum):
    """A change of one setting (KIP-339); the numbers are those of the protocol. The last two are for lists."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterConfig(NamedTuple):
    """One change to one setting. value: None for DELETE."""

    name: str
    value: str | None
    operation: AlterOperation = AlterOperation.SET
