"""An authorizer of the operator's own: `authorizer.class.name` as the name of a Python class.

Such a class has the method `allows(who, operation, resource_type, name, audit)`, which must not wait. It may have
`configure(properties)`, `allows_on_any(who, operation, resource_type)`, `acls()`, and the coroutine functions
`create_acls(bindings)`, `delete_acls(filters)`, `start()` and `close()`, as in acl_authorizer.py.
Source: docs/reference/security/acls.md, section 2; KIP-504; docs/security.md, "An authorizer of your own".
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.plugins import make_plugin
from kafka_py.security.acls.authorization import Asker, Audit, Removal
from kafka_py.security.acls.bindings import AclBinding, AclEntry, AclFilter, ResourcePattern
from kafka_py.security.acls.decisions import decide_on_any
from kafka_py.security.acls.hosts import java_host
from kafka_py.security.acls.index import NO_VERSION, AclIndex
from kafka_py.security.acls.vocabulary import Operation, ResourceType

SETTING = "authorizer.class.name"

_ANY_NAME = "hardcode"
"""The resource by whose name a super user is found out; Apache Kafka's default method asks for the same."""


class PluginAuthorizer:
    """An operator's authorizer, with defaults for what it does not have."""

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin
        self.allows = plugin.allows

    @classmethod
    def load(cls, name: str, properties: Mapping[str, object]) -> PluginAuthorizer:
        """name: `package.module:Class` or a dotted path. Raises ConfigError."""
        plugin = make_plugin(SETTING, name.replace(":", "."), ("allows",), properties)
        for method in ("allows", "allows_on_any"):
            if inspect.iscoroutinefunction(getattr(plugin, method, None)):
                raise ConfigError(
                    f"Invalid value {name} for configuration {SETTING}: {method} must not be a coroutine function, "
                    "whose result would be taken for a permission"
                )
        return cls(plugin)

    def allows_on_any(self, who: Asker, operation: Operation, resource_type: ResourceType, /) -> bool:
        """As the plug-in says; without a method of its own, by its ACLs."""
        decides = getattr(self._plugin, "allows_on_any", None)
        if decides is not None:
            return bool(decides(who, operation, resource_type))
        if self._plugin.allows(who, operation, resource_type, _ANY_NAME, Audit.IF_ALLOWED):
            return True
        if not hasattr(self._plugin, "acls"):
            return False
        by_pattern: dict[ResourcePattern, list[AclEntry]] = {}
        for pattern, entry in self._plugin.acls():
            by_pattern.setdefault(pattern, []).append(entry)
        index = AclIndex()
        for pattern, entries in by_pattern.items():
            index.put(pattern, entries, NO_VERSION)
        principal = str(who.principal)
        host = java_host(who.host)
        return decide_on_any(index, principal, host, operation, resource_type, allowed_without_acls=False)

    def acls(self) -> Iterable[AclBinding]:
        """All ACLs; none if the plug-in keeps none."""
        found: Iterable[AclBinding] = self._method("acls")()
        return found

    async def create_acls(self, bindings: Sequence[AclBinding]) -> Sequence[KafkaError | None]:
        """The result of each."""
        results: Sequence[KafkaError | None] = await self._method("create_acls")(bindings)
        return results

    async def delete_acls(self, filters: Sequence[AclFilter]) -> Sequence[Sequence[Removal]]:
        """What each filter removed."""
        results: Sequence[Sequence[Removal]] = await self._method("delete_acls")(filters)
        return results

    def _method(self, name: str) -> Any:
        found = getattr(self._plugin, name, None)
        if found is None:
            kind = type(self._plugin).__name__
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"The authorizer {kind} has no method {name}")
        return found

    async def start(self) -> None:
        if hasattr(self._plugin, "start"):
            await self._plugin.start()

    async def close(self) -> None:
        if hasattr(self._plugin, "close"):
            await self._plugin.close()
