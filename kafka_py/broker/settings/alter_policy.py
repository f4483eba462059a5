"""Plug-in policy for config changes: `alter.config.policy.class.name` (KIP-133).

The setting is the dotted path of a Python class, as with create.topic.policy.class.name (controller/topic_policy.py).
Knows nothing of how settings are changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kafka_py.base.plugins import make_plugin

SETTING = "alter.config.policy.class.name"


class Resource(NamedTuple):
    """The resource that is changed. type: the protocol's number. name: a topic, a broker id, or "" for all brokers."""

    type: int
    name: str


class AlterPolicy(Protocol):
    """Interface of a policy class; created without arguments, once per broker."""

    def configure(self, configs: Mapping[str, object]) -> None:
        """Receives the broker's properties."""
        ...

    def validate(self, resource: Resource, configs: Mapping[str, str]) -> None:
        """Raises PolicyViolation (controller/topic_policy.py) to reject a change. configs: all new overrides."""
        ...


def load_alter_policy(path: str | None, configs: Mapping[str, object]) -> AlterPolicy | None:
    """The configured policy, None when `path` is None. Raises ConfigError when there is no such class."""
    if not path:
        return None
    policy: AlterPolicy = make_plugin(SETTING, path, ("configure", "validate"), configs)
    return policy
