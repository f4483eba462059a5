"""The authorizer that goes by ACLs: the settings, a cache of decisions, the audit log.

A decision is looked up, until an ACL changes; so what it costs does not depend on how many ACLs there are.
Source: docs/reference/security/acls.md, sections 2 and 3; AclAuthorizer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.net.principal import Principal
from kafka_py.security.acls.audit import audit_log, known_levels, log_decision, shown
from kafka_py.security.acls.authorization import Asker, Audit, Removal
from kafka_py.security.acls.bindings import AclBinding, AclFilter
from kafka_py.security.acls.decisions import decide, decide_on_any
from kafka_py.security.acls.hosts import java_host
from kafka_py.security.acls.keeper import AclKeeper
from kafka_py.security.acls.vocabulary import Operation, Permission, ResourceType
from kafka_py.zk.session import ZkSession

SUPER_USERS = "super.users"
ALLOW_WITHOUT_ACLS = "allow.everyone.if.no.acl.found"

MOST_CACHED = 20_000
"""Decisions in the cache; it is emptied when there are more."""

LONGEST_CACHED_NAME = 300
"""Longer names are no topics; they are decided on each time, so that a client cannot fill the memory with them."""

_DEBUG = logging.DEBUG
_Key = tuple[Principal, str, int, int, str | None]


class AclAuthorizer:
    """Decides by the ACLs that a keeper has."""

    def __init__(
        self, keeper: AclKeeper, super_users: Iterable[Principal], *, allowed_without_acls: bool,
        own_session: ZkSession | None = None,
    ) -> None:  # fmt: skip
        """own_session: the session of the keeper if nobody else uses it: it is connected and closed with it."""
        self._keeper = keeper
        self._own_session = own_session
        self._index = keeper.index
        self._super_users = frozenset(super_users)
        self._allowed_without_acls = allowed_without_acls
        self._decisions: dict[_Key, bool] = {}
        self._generation = self._index.generation

    # ---- decisions

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, audit: Audit = Audit.ALWAYS, /
    ) -> bool:
        """As the interface has it; denials are logged."""
        if self._generation != self._index.generation:
            self._forget()
        key = (who.principal, who.host, operation, resource_type, name)
        allowed = self._decisions.get(key)
        if allowed and known_levels.get(_DEBUG) is False:
            return True
        says_why = audit_log.isEnabledFor(logging.DEBUG)
        if allowed is None or says_why:
            allowed = self._decide(key)
        if not allowed or says_why:
            log_decision(allowed, who, operation, resource_type, name, audit)
        return allowed

    def allows_on_any(self, who: Asker, operation: Operation, resource_type: ResourceType, /) -> bool:
        """As the interface has it; denials are logged."""
        if self._generation != self._index.generation:
            self._forget()
        key = (who.principal, who.host, operation, resource_type, None)
        allowed = self._decisions.get(key)
        if allowed is None:
            allowed = who.principal in self._super_users or decide_on_any(
                self._index, str(who.principal), java_host(who.host), operation, resource_type,
                allowed_without_acls=self._allowed_without_acls,
            )  # fmt: skip
            self._remember(key, allowed)
        log_decision(allowed, who, operation, resource_type, None, Audit.ALWAYS)
        return allowed

    def _decide(self, key: _Key) -> bool:
        principal, host, operation, resource_type, name = key
        assert name is not None
        if principal in self._super_users:
            audit_log.debug("%s is a super user", principal)
            allowed = True
        else:
            operation, resource_type = Operation(operation), ResourceType(resource_type)
            verdict = decide(
                self._index, str(principal), java_host(host), operation, resource_type, name,
                allowed_without_acls=self._allowed_without_acls,
            )  # fmt: skip
            allowed = verdict.allowed
            if not verdict.has_acls:
                audit_log.debug("No acl found for resource %s, authorized = %s", shown(name), str(allowed).lower())
            elif verdict.entry is not None:
                audit_log.debug(
                    "operation = %s on resource = %s from host = %s is %s based on acl = %s",
                    operation.name, shown(name), host, Permission(verdict.entry.permission).name, verdict.entry,
                )  # fmt: skip
        self._remember(key, allowed)
        return allowed

    def _remember(self, key: _Key, allowed: bool) -> None:
        if len(key[4] or "") > LONGEST_CACHED_NAME:
            return
        if len(self._decisions) >= MOST_CACHED:
            self._decisions.clear()
        self._decisions[key] = allowed

    def _forget(self) -> None:
        self._decisions = {}
        self._generation = self._index.generation

    # ---- ACLs

    def acls(self) -> Iterator[AclBinding]:
        """All ACLs at this moment; they may be taken in turns."""
        return self._index.bindings()

    async def create_acls(self, bindings: Sequence[AclBinding]) -> list[KafkaError | None]:
        """The result of each; returns when ZooKeeper has them."""
        return await self._keeper.add(bindings)

    async def delete_acls(self, filters: Sequence[AclFilter]) -> list[list[Removal]]:
        """What each filter removed; returns when ZooKeeper has it."""
        return await self._keeper.remove(filters)

    async def start(self) -> None:
        """Reads all ACLs."""
        if self._own_session is not None:
            await self._own_session.connect()
        await self._keeper.start()

    async def close(self) -> None:
        await self._keeper.close()
        if self._own_session is not None:
            await self._own_session.close()


def super_users_of(configs: Mapping[str, object]) -> list[Principal]:
    """The principals of `super.users`. Raises ConfigError."""
    found = []
    for text in filter(None, map(str.strip, str(configs.get(SUPER_USERS) or "").split(";"))):
        kind, colon, name = text.partition(":")
        if not colon or not kind:
            raise ConfigError(f"{SUPER_USERS}: expected principals as Type:name separated by semicolons, not {text!r}")
        found.append(Principal(kind, name))
    return found


def allowed_without_acls(configs: Mapping[str, object]) -> bool:
    """The value of `allow.everyone.if.no.acl.found`. Raises ConfigError."""
    text = str(configs.get(ALLOW_WITHOUT_ACLS) or "false").strip().lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{ALLOW_WITHOUT_ACLS} must be true or false, not {text!r}")
    return text == "true"
