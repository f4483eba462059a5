"""Creates the assignors of partition.assignment.strategy: built-in ones by Java names, others by class or its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.base.plugins import make_plugin
from kafka_py.clients.consumer.assignors.assignor import Assignor, RebalanceProtocol
from kafka_py.clients.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka_py.clients.consumer.assignors.range import RangeAssignor
from kafka_py.clients.consumer.assignors.round_robin import RoundRobinAssignor
from kafka_py.clients.consumer.assignors.sticky import StickyAssignor

SETTING = "partition.assignment.strategy"
METHODS = ("assign", "on_assignment", "subscription_user_data")

BUILT_IN: dict[str, type[Assignor]] = {
    f"org.apache.kafka.clients.consumer.{each.__name__}": each
    for each in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
}


def assignors_of(wanted: Iterable[Any], configs: Mapping[str, Any]) -> list[Assignor]:
    """The assignors in order of preference, configured.

    wanted: class names, classes, or assignor objects.
    Raises ConfigError for what is no assignor, and for two assignors with the same name.
    """
    found: dict[str, Assignor] = {}
    for each in wanted:
        made = _made(each, configs)
        if made.name in found:
            raise ConfigError(f"The assignor name: '{made.name}' is used in more than one assignor: {SETTING}")
        found[made.name] = made
    return list(found.values())


def _made(wanted: Any, configs: Mapping[str, Any]) -> Assignor:
    known = BUILT_IN.get(wanted) if isinstance(wanted, str) else None
    made = make_plugin(SETTING, known or wanted, METHODS, configs)
    if not isinstance(made, Assignor) or not getattr(made, "name", ""):
        raise ConfigError(f"Invalid value {wanted!r} for configuration {SETTING}: not an Assignor with a name")
    return made


def protocol_of(assignors: Iterable[Assignor]) -> RebalanceProtocol:
    """The highest rebalance protocol that all of them support. Raises ConfigError when there is none."""
    shared = set(RebalanceProtocol)
    for each in assignors:
        shared &= set(each.protocols)
    if not shared:
        raise ConfigError(f"the assignors in {SETTING} have no rebalance protocol in common")
    return max(shared)
