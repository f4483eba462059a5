"""Throttles that were set for moves of replicas, kept until the moves are over: what is removed then, and what is not.

Pure. A throttle that another user has set or changed is never removed: only a setting that still has the value that was
set for the moves gets back the one that it had before. (`kafka-reassign-partitions.sh --verify` removes them all.)
Source: KIP-73.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.rebalancing.throttles import REPLICATION_RATES, Moves, moving_brokers, topic_throttles

FILE_VERSION = 1
Settings = dict[str, dict[str, str]]
"""Topic, or id of a broker -> setting -> value."""
Changes = dict[str, dict[str, str | None]]
"""The same; None removes a setting."""


class KeptSetting(NamedTuple):
    """before: the value that it had before any of these moves, None for none. own: the one that was set for them last.

    earlier: another one that was set for them, and is still there where setting the last one has failed.
    """

    before: str | None
    own: str
    earlier: str | None = None

    def is_ours(self, value: str | None) -> bool:
        """Whether the value was set for these moves."""
        return value is not None and value in (self.own, self.earlier)


KeptSettings = dict[str, dict[str, KeptSetting]]


@dataclass(frozen=True, slots=True)
class KeptThrottles:
    """What is set for moves of one cluster."""

    cluster_id: str | None = None
    topics: KeptSettings = field(default_factory=dict)
    brokers: KeptSettings = field(default_factory=dict)

    @property
    def is_set(self) -> bool:
        return bool(self.topics or self.brokers)


def throttle_settings(moves: Moves, rate: int, live: Collection[int]) -> tuple[Settings, Settings]:
    """The settings of topics and of live brokers that throttle these moves to `rate` bytes per second."""
    brokers = {str(id_): dict.fromkeys(REPLICATION_RATES, str(rate)) for id_ in moving_brokers(moves) if id_ in live}
    return topic_throttles(moves), brokers


def with_settings(kept: KeptSettings, wanted: Settings, found: Mapping[str, Mapping[str, str]]) -> KeptSettings:
    """What is kept once `wanted` is set. found: what is set now; a value of our own is not what was there before."""
    result = {name: dict(settings) for name, settings in kept.items()}
    for name, settings in wanted.items():
        for setting, value in settings.items():
            now = found.get(name, {}).get(setting)
            known = result.get(name, {}).get(setting)
            is_ours = known is not None and known.is_ours(now)
            row = KeptSetting(known.before, value, now) if known is not None and is_ours else KeptSetting(now, value)
            result.setdefault(name, {})[setting] = row
    return result


def no_longer_needed(
    kept: KeptThrottles, running: Mapping[TopicPartition, PartitionReassignment]
) -> tuple[list[str], list[str]]:
    """The topics none of whose partitions moves, and the brokers that no running move concerns."""
    topics = {each.topic for each in running}
    brokers = {str(id_) for move in running.values() for id_ in (*move.replicas, *move.adding, *move.removing)}
    return [name for name in kept.topics if name not in topics], [name for name in kept.brokers if name not in brokers]


def restored(kept: KeptSettings, names: Iterable[str], found: Mapping[str, Mapping[str, str]]) -> Changes:
    """What gives these topics or brokers back what they had; nothing for a setting that others have changed."""
    changes: Changes = {}
    for name in names:
        own = {
            setting: each.before
            for setting, each in kept[name].items()
            if each.is_ours(found.get(name, {}).get(setting))
        }
        if own:
            changes[name] = own
    return changes


def without(kept: KeptThrottles, topics: Collection[str], brokers: Collection[str]) -> KeptThrottles:
    """What is kept after these topics and brokers were restored."""
    return KeptThrottles(
        kept.cluster_id,
        {name: settings for name, settings in kept.topics.items() if name not in topics},
        {name: settings for name, settings in kept.brokers.items() if name not in brokers},
    )


def kept_text(kept: KeptThrottles) -> str:
    """The content of the file."""
    parts = {"cluster_id": kept.cluster_id, "topics": kept.topics, "brokers": kept.brokers}
    return json.dumps({"version": FILE_VERSION, **parts}, indent=1)


def kept_of(text: str) -> KeptThrottles:
    """What a file has. Raises ValueError for another content."""
    try:
        document = json.loads(text)
        if document["version"] != FILE_VERSION:
            raise ValueError(f"version {document['version']} is not {FILE_VERSION}")
        return KeptThrottles(document["cluster_id"], *(_settings_of(document[kind]) for kind in ("topics", "brokers")))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"this is no file of throttles: {error}") from None


def _settings_of(rows: Mapping[str, Mapping[str, list[str]]]) -> KeptSettings:
    return {
        name: {setting: KeptSetting(*row) for setting, row in settings.items()}
        for name, settings in rows.items()
    }
