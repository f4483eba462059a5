"""Dynamic configs: the overrides of topics, clients, users, brokers and ips, and their change notifications.

Values are text, as stored; the settings tables interpret them.
Source: docs/reference/zookeeper.md, section 10.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from kafka_py.zk.access import Found, ZkAccess, pipelined, raise_first
from kafka_py.zk.config_znodes import ConfigChangeZNode, ConfigTypeZNode, ConfigZNode, desanitize, entity_path
from kafka_py.zk.schema import MalformedZNode, load_json

_log = logging.getLogger(__name__)


def _overrides(entity: str, found: Found | None) -> dict[str, str]:
    if found is None or found[0] is None:
        return {}
    try:
        return ConfigZNode.decode(found[0]).config
    except MalformedZNode as error:
        _log.error("the overrides of %s cannot be read: %s", entity, error)
        return {}


def _require_overrides(found: Found | None) -> None:
    """Raises MalformedZNode for a JSON object that cannot be read: rewriting it would lose its content."""
    if found is None:
        return
    try:
        load_json(found[0], ConfigZNode.__name__)
    except MalformedZNode:
        return
    ConfigZNode.decode(found[0])


class ConfigStore:
    """Overrides by entity. `entity_path(("topics", "t"))` makes an entity path."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def of_entity(self, entity: str) -> dict[str, str]:
        """The overrides of one entity; empty if its znode is missing or cannot be read (logged)."""
        return _overrides(entity, await self._znodes.read(ConfigZNode.path(entity)))

    async def of_entities(self, entities: Iterable[str]) -> dict[str, dict[str, str]]:
        """The overrides of many entities by entity path, pipelined."""
        paths = list(entities)
        found = await pipelined(self.of_entity(path) for path in paths)
        raise_first(found)
        return {path: one for path, one in zip(paths, found, strict=True) if isinstance(one, dict)}

    async def of_topic(self, topic: str) -> dict[str, str]:
        """The overrides of a topic."""
        return await self.of_entity(entity_path(("topics", topic)))

    async def of_topics(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The overrides of many topics by name, pipelined; a topic without overrides has an empty map."""
        names = list(topics)
        found = await self.of_entities(entity_path(("topics", name)) for name in names)
        return {name: found[entity_path(("topics", name))] for name in names}

    async def entity_names(self, entity_type: str) -> list[str]:
        """The names configured under a type ("topics", "users", "users/alice/clients"), sorted.

        User and client names are returned desanitized.
        """
        names = await self._znodes.children_or_empty(ConfigTypeZNode.path(entity_type))
        kind = entity_type.rpartition("/")[2]
        return sorted(desanitize(name) if kind in ("users", "clients") else name for name in names)

    async def of_all(self, entity_type: str) -> dict[str, dict[str, str]]:
        """Every configured entity of a type by name."""
        names = await self.entity_names(entity_type)
        kind = entity_type.rpartition("/")[2]
        base = entity_type.removesuffix(kind)
        paths = [base + entity_path((kind, name)) for name in names]
        found = await self.of_entities(paths)
        return {name: found[path] for name, path in zip(names, paths, strict=True)}

    async def change(self, entity: str, config: Mapping[str, str]) -> None:
        """Replaces all overrides of one entity, then notifies every broker.

        An empty map removes all overrides. To change some of them, use `edit`.
        """
        await self._znodes.set_or_create(ConfigZNode.path(entity), ConfigZNode(dict(config)).encode())
        await self.announce_change(entity)

    async def edit(
        self, entity: str, edit: Callable[[dict[str, str]], Awaitable[Mapping[str, str] | None]]
    ) -> bool:
        """Changes the overrides of one entity, then notifies every broker. Whether something was written.

        edit: the current overrides -> the new ones, or None to leave them unchanged. It is called again, with the newer
        overrides, when another client wrote them meanwhile, so that no edit is lost. Its exceptions are raised here.
        Raises MalformedZNode for a JSON object that cannot be parsed as overrides; data that is not a JSON object
        counts as no overrides.
        """

        async def change(found: Found | None) -> bytes | None:
            _require_overrides(found)
            wanted = await edit(_overrides(entity, found))
            return None if wanted is None else ConfigZNode(dict(wanted)).encode()

        written = await self._znodes.update(ConfigZNode.path(entity), change)
        if written:
            await self.announce_change(entity)
        return written

    async def announce_change(self, entity: str) -> None:
        """Notifies every broker to re-read one entity."""
        await self._znodes.create_recursive(ConfigChangeZNode.path(), ConfigChangeZNode(entity).encode(), sequence=True)
