"""Which quota applies to a client, and with whom it shares the budget.

The tags (user, client id) that a client is given name the budget: clients with equal tags share it, and an empty tag
means that the budget does not depend on it. Pure: knows entities and limits, no clock and no ZooKeeper.
Source: docs/reference/quotas.md, section 2; ClientQuotaManager.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from kafka_py.broker.quotas.quota_keys import QuotaEntity, tag_of
from kafka_py.zk.config_znodes import DEFAULT_ENTITY

Tags = tuple[Hashable, ...]
"""What names a budget: (user, client id) by default, pairs of names and values with a plug-in."""

_CLIENT, _USER, _USER_CLIENT = 1, 2, 4


class Limits(Protocol):
    """The limits of one type of quota: the table of this file, or a plug-in (callback.py)."""

    @property
    def is_on(self) -> bool:
        """Whether clients are measured at all."""
        ...

    def tags_of(self, principal: tuple[str, str], client_id: str) -> Tags:
        """The budget of a client. principal: kind and name."""
        ...

    def limit_of(self, tags: Tags) -> float | None:
        """The limit of a budget; None for none."""
        ...

    def must_reset(self) -> bool:
        """Whether the limits of all budgets must be read again now."""
        ...

    def set_limit(self, entity: QuotaEntity, limit: float | None) -> bool:
        """Sets or removes the limit of an entity; whether that may change the limits of budgets."""
        ...


class ConfiguredLimits:
    """The limits in ZooKeeper. static_default: of clients without any (quota.producer.default), None for none.

    A level (client, user, or both) counts from its first limit on, also when that is removed.
    """

    def __init__(self, static_default: float | None = None) -> None:
        self._limits: dict[QuotaEntity, float] = {}
        self._static_default = static_default
        self._levels = 0 if static_default is None else _CLIENT

    @property
    def is_on(self) -> bool:
        return self._levels > 0

    def must_reset(self) -> bool:
        return False

    def set_limit(self, entity: QuotaEntity, limit: float | None) -> bool:
        if limit is None:
            return self._limits.pop(entity, None) is not None
        before, self._limits[entity] = self._limits.get(entity), limit
        if entity.user is None:
            self._levels |= _CLIENT
        else:
            self._levels |= _USER if entity.client_id is None else _USER_CLIENT
        return limit != before

    def tags_of(self, principal: tuple[str, str], client_id: str) -> tuple[str, str]:
        user = tag_of(principal[1])
        if self._levels in (0, _CLIENT):
            return "", client_id
        if self._levels == _USER:
            return user, ""
        if self._levels == _USER_CLIENT:
            return user, client_id
        return self._first_with_a_limit(user, client_id)

    def _first_with_a_limit(self, user: str, client_id: str) -> tuple[str, str]:
        limits, client = self._limits, tag_of(client_id)
        for each in (user, DEFAULT_ENTITY):
            if (each, client) in limits or (each, DEFAULT_ENTITY) in limits:
                return user, client_id
            if (each, None) in limits:
                return user, ""
        return "", client_id

    def limit_of(self, tags: Tags) -> float | None:
        user, client_id = tags
        client = tag_of(client_id) if isinstance(client_id, str) and client_id else None
        if user and client:
            pairs = [(each, one) for each in (user, DEFAULT_ENTITY) for one in (client, DEFAULT_ENTITY)]
            return self._first(*pairs)
        if user:
            return self._first((user, None), (DEFAULT_ENTITY, None))
        if client:
            limit = self._first((None, client), (None, DEFAULT_ENTITY))
            return self._static_default if limit is None else limit
        return None

    def _first(self, *entities: tuple[Hashable, Hashable]) -> float | None:
        for entity in entities:
            limit = self._limits.get(entity)  # type: ignore[call-overload]
            if limit is not None:
                return float(limit)
        return None
