"""Plug-in that decides quotas: `client.quota.callback.class` (KIP-257).

The setting is the dotted path of a Python class; one object serves all four types of quota. It gets the changes in
ZooKeeper, and says for each request which budget it counts against, and the limit of each budget.
Source: docs/reference/quotas.md, section 7; ClientQuotaCallback.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar, cast

from kafka_py.base.plugins import make_plugin
from kafka_py.broker.quotas.precedence import Tags
from kafka_py.broker.quotas.quota_keys import CLIENT_ID, USER, QuotaEntity, QuotaType
from kafka_py.zk.config_znodes import DEFAULT_ENTITY, desanitize

SETTING = "client.quota.callback.class"

T = TypeVar("T")

_log = logging.getLogger(__name__)


class QuotaCallback(Protocol):
    """Interface of the class; created without arguments, once per broker. Called on the event loop: it must not wait.

    quota_type: the value of a QuotaType, such as "Produce".
    entity: names by type ("user", "client-id"); None is the default of that type.
    """

    def configure(self, configs: Mapping[str, object]) -> None:
        """Receives the broker's properties."""
        ...

    def quota_metric_tags(self, quota_type: str, principal: tuple[str, str], client_id: str) -> Mapping[str, str]:
        """The budget of a client; principal: kind and name. The tags name its metrics too, in their order."""
        ...

    def quota_limit(self, quota_type: str, tags: Mapping[str, str]) -> float | None:
        """The limit of a budget; None for none."""
        ...

    def update_quota(self, quota_type: str, entity: Mapping[str, str | None], limit: float) -> None:
        """The limit of an entity was set in ZooKeeper."""
        ...

    def remove_quota(self, quota_type: str, entity: Mapping[str, str | None]) -> None:
        """The limit of an entity was removed from ZooKeeper."""
        ...

    def quota_reset_required(self, quota_type: str) -> bool:
        """Whether limits have changed for another reason; asked at every record."""
        ...

    def update_cluster_metadata(self, cluster: object) -> bool:
        """Called for each UpdateMetadata with the metadata cache; whether limits have changed by that."""
        ...

    def close(self) -> None: ...


_METHODS = (
    "configure", "quota_metric_tags", "quota_limit", "update_quota", "remove_quota", "quota_reset_required",
    "update_cluster_metadata", "close",
)  # fmt: skip


def load_quota_callback(path: str | None, configs: Mapping[str, object]) -> QuotaCallback | None:
    """The configured plug-in, None when `path` is None. Raises ConfigError when there is no such class."""
    if not path:
        return None
    return cast(QuotaCallback, make_plugin(SETTING, path, _METHODS, configs))


class GuardedCallback:
    """A plug-in whose exceptions and unusable answers stay with it.

    Then a client has the budget of its user and client id, and a budget has no limit. It is logged when a method
    begins to fail, and when it answers again: most are called for every request.
    """

    def __init__(self, callback: QuotaCallback) -> None:
        self._callback = callback
        self._failing: set[str] = set()

    def _asked(self, method: str, ask: Callable[[], T], otherwise: T) -> T:
        try:
            answer = ask()
        except Exception:
            if method not in self._failing:
                self._failing.add(method)
                _log.exception("%s of the class in %s failed; no quota is applied by it", method, SETTING)
            return otherwise
        if method in self._failing:
            self._failing.remove(method)
            _log.warning("%s of the class in %s answers again", method, SETTING)
        return answer

    def quota_metric_tags(self, quota_type: str, principal: tuple[str, str], client_id: str) -> Mapping[str, str]:
        ask = self._callback.quota_metric_tags
        return self._asked(
            "quota_metric_tags", lambda: {str(k): str(v) for k, v in ask(quota_type, principal, client_id).items()},
            {USER: principal[1], CLIENT_ID: client_id},
        )  # fmt: skip

    def quota_limit(self, quota_type: str, tags: Mapping[str, str]) -> float | None:
        def ask() -> float | None:
            limit = self._callback.quota_limit(quota_type, tags)
            return None if limit is None else float(limit)

        return self._asked("quota_limit", ask, None)

    def update_quota(self, quota_type: str, entity: Mapping[str, str | None], limit: float) -> None:
        self._asked("update_quota", lambda: self._callback.update_quota(quota_type, entity, limit), None)

    def remove_quota(self, quota_type: str, entity: Mapping[str, str | None]) -> None:
        self._asked("remove_quota", lambda: self._callback.remove_quota(quota_type, entity), None)

    def quota_reset_required(self, quota_type: str) -> bool:
        ask = self._callback.quota_reset_required
        return self._asked("quota_reset_required", lambda: bool(ask(quota_type)), False)

    def update_cluster_metadata(self, cluster: object) -> bool:
        ask = self._callback.update_cluster_metadata
        return self._asked("update_cluster_metadata", lambda: bool(ask(cluster)), False)

    def close(self) -> None:
        self._asked("close", self._callback.close, None)


class CallbackLimits:
    """The limits of one type as a plug-in gives them; always on."""

    is_on = True

    def __init__(self, callback: GuardedCallback, quota_type: QuotaType) -> None:
        self._callback = callback
        self._type = quota_type.value

    def tags_of(self, principal: tuple[str, str], client_id: str) -> Tags:
        return tuple(self._callback.quota_metric_tags(self._type, principal, client_id).items())

    def limit_of(self, tags: Tags) -> float | None:
        return self._callback.quota_limit(self._type, dict(cast("tuple[tuple[str, str], ...]", tags)))

    def must_reset(self) -> bool:
        return self._callback.quota_reset_required(self._type)

    def set_limit(self, entity: QuotaEntity, limit: float | None) -> bool:
        named = {
            kind: None if name == DEFAULT_ENTITY else desanitize(name)
            for kind, name in ((USER, entity.user), (CLIENT_ID, entity.client_id))
            if name is not None
        }
        if limit is None:
            self._callback.remove_quota(self._type, named)
        else:
            self._callback.update_quota(self._type, named, limit)
        return True
