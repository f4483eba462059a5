"""Znodes of dynamic configs: the overrides of topics, clients, users, brokers and ips, and change notifications.

Part of the table in znodes.py. Source: docs/reference/zookeeper.md, section 10.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Self
from urllib.parse import quote_plus, unquote_plus

from kafka_py.zk.schema import MalformedZNode, ZNode, znode

DEFAULT_ENTITY = "<default>"


@znode("/config/{entity_type}")
class ConfigTypeZNode(ZNode):
    """Parent of the configured entities of a type: topics, clients, users, brokers, ips."""


@znode("/config/{entity_path}", version=1)
class ConfigZNode(ZNode):
    """The overrides of one entity; see `entity_path`. Without overrides the map is empty, and the znode remains."""

    config: dict[str, str] = field(default_factory=dict)

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        """The value of a znode's data. Raises MalformedZNode, which does not show the data: it may be a password."""
        try:
            return super().decode(data)
        except MalformedZNode:
            raise MalformedZNode(f"{cls.__name__}: {len(data or b'')} bytes that are not overrides") from None


@znode("/config/changes")
class ConfigChangesZNode(ZNode):
    """Parent of the config change notifications."""


@znode("/config/changes/config_change_", version=2)
class ConfigChangeZNode(ZNode):
    """Notifies every broker to re-read one entity. Sequential."""

    entity_path: str

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        version = row.get("version")
        if version == 1:
            entity_type, entity_name = row.get("entity_type"), row.get("entity_name")
            if entity_type not in ("topics", "clients") or type(entity_name) is not str:
                raise MalformedZNode(f"{cls.__name__}: not a topic or client in {row}")
            return cls(f"{entity_type}/{entity_name}")
        if version != 2:
            raise MalformedZNode(f"{cls.__name__}: unsupported version {version!r} in {row}")
        return super().from_json(row)


def sanitize(name: str) -> str:
    """A user or client name as part of a path; the default entity's name is not changed."""
    if name == DEFAULT_ENTITY:
        return name
    return quote_plus(name, safe="*-._").replace("*", "%2A").replace("+", "%20").replace("~", "%7E")


def desanitize(name: str) -> str:
    """The inverse of `sanitize`."""
    return name if name == DEFAULT_ENTITY else unquote_plus(name)


def entity_path(*entity: tuple[str, str]) -> str:
    """("users", "alice"), ("clients", "c1") -> "users/alice/clients/c1"; users and clients are sanitised."""
    return "/".join(f"{kind}/{sanitize(name) if kind in ('users', 'clients') else name}" for kind, name in entity)
