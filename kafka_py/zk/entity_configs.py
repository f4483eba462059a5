"""Dynamic configs: the overrides of topics, clients, users, brokers and ips, and the announcement of a change.

Values are text, as stored; what they mean is the business of the settings tables. Source: reference zookeeper.md
section 7.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from kafka_py.zk.access import ZkAccess, pipelined, raise_first
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.znodes import ConfigChangeZNode, ConfigTypeZNode, ConfigZNode, desanitize, entity_path

log = logging.getLogger(__name__)


class ConfigStore(ZkAccess):
    """Overrides by entity. An entity path is made by `znodes.entity_path(("topics", "t"))`."""

    async def entity_config(self, entity: str) -> dict[str, str]:
        """The overrides of one entity; none if it has no znode, or one that cannot be read (which is logged)."""
        found = await self.read(ConfigZNode.path(entity))
        if found is None or found[0] is None:
            return {}
        try:
            return ConfigZNode.decode(found[0]).config
        except MalformedZNode as error:
            log.error("the overrides of %s cannot be read: %s", entity, error)
            return {}

    async def entity_configs(self, entities: Iterable[str]) -> dict[str, dict[str, str]]:
        """The overrides of many entities by entity path, pipelined."""
        paths = list(entities)
        found = await pipelined(self.entity_config(path) for path in paths)
        raise_first(found)
        return {path: one for path, one in zip(paths, found, strict=True) if isinstance(one, dict)}

    async def topic_config(self, topic: str) -> dict[str, str]:
        """The overrides of a topic."""
        return await self.entity_config(entity_path(("topics", topic)))

    async def topic_configs(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The overrides of many topics by name, pipelined; a topic without overrides has an empty map."""
        names = list(topics)
        found = await self.entity_configs(entity_path(("topics", name)) for name in names)
        return {name: found[entity_path(("topics", name))] for name in names}

    async def entity_names(self, entity_type: str) -> list[str]:
        """The names configured under a type ("topics", "users", "users/alice/clients"), sorted.

        User and client names come out as they are, not as they are spelled in the path.
        """
        names = await self.children_or_empty(ConfigTypeZNode.path(entity_type))
        kind = entity_type.rpartition("/")[2]
        return sorted(desanitize(name) if kind in ("users", "clients") else name for name in names)

    async def all_entity_configs(self, entity_type: str) -> dict[str, dict[str, str]]:
        """Every configured entity of a type by name."""
        names = await self.entity_names(entity_type)
        kind = entity_type.rpartition("/")[2]
        base = entity_type.removesuffix(kind)
        paths = [base + entity_path((kind, name)) for name in names]
        found = await self.entity_configs(paths)
        return {name: found[path] for name, path in zip(names, paths, strict=True)}

    async def change_entity_config(self, entity: str, config: Mapping[str, str]) -> None:
        """Replaces the overrides of one entity, then tells every broker. No override left is an empty map."""
        await self.set_or_create(ConfigZNode.path(entity), ConfigZNode(dict(config)).encode())
        await self.announce_config_change(entity)

    async def announce_config_change(self, entity: str) -> None:
        """Tells every broker to read one entity again."""
        await self.create_recursive(ConfigChangeZNode.path(), ConfigChangeZNode(entity).encode(), sequence=True)
