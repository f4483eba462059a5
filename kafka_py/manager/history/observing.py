"""Asks a cluster for an observation: one look, and now and then sizes and settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.resources import ConfigEntry, ConfigResource, ConfigResourceType
from kafka_py.manager.history.observation import Observed, Settings, observation_of
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart

ALWAYS = frozenset({ViewPart.TOPICS, ViewPart.OFFSETS, ViewPart.GROUPS, ViewPart.COMMITTED})
RESOURCES_PER_REQUEST = 50


class ClusterUnreachable(Exception):
    """No broker of the cluster answered."""


async def observe(
    admin: AsyncAdminClient, before: Observed | None, limits: LookLimits, *, is_thorough: bool
) -> Observed:
    """One observation. is_thorough: with sizes and settings. Raises ClusterUnreachable."""
    snapshot = await look_at(admin, ALWAYS | {ViewPart.LOG_DIRS} if is_thorough else ALWAYS, limits=limits)
    if not snapshot.is_reached:
        raise ClusterUnreachable(str(snapshot.unseen[0]) if snapshot.unseen else "no broker answered")
    settings = before.settings if before is not None else None
    if is_thorough:
        settings = merged_settings(settings or {}, await _settings_of(admin, snapshot, limits), snapshot)
    return observation_of(snapshot, before, settings, has_sizes=is_thorough)


def merged_settings(before: Settings, now: Settings, snapshot: ClusterSnapshot) -> Settings:
    """The settings of what exists now; of a resource that could not be described those that were known before."""
    resources = resources_of(snapshot)
    return {each: now.get(each, before.get(each, {})) for each in resources if each in now or each in before}


def resources_of(snapshot: ClusterSnapshot) -> list[ConfigResource]:
    """All brokers and topics."""
    brokers = [ConfigResource(ConfigResourceType.BROKER, str(broker)) for broker in snapshot.nodes]
    return brokers + [ConfigResource(ConfigResourceType.TOPIC, topic) for topic in snapshot.topics]


def changed_settings(entries: Mapping[str, ConfigEntry]) -> dict[str, str | None]:
    """What differs from the default and is no secret."""
    return {name: each.value for name, each in entries.items() if not each.is_default and not each.is_sensitive}


async def _settings_of(admin: AsyncAdminClient, snapshot: ClusterSnapshot, limits: LookLimits) -> Settings:
    """The settings of what can be described; a part that fails is missing."""
    resources = resources_of(snapshot)
    pieces = [resources[at : at + RESOURCES_PER_REQUEST] for at in range(0, len(resources), RESOURCES_PER_REQUEST)]
    slots = asyncio.Semaphore(max(1, limits.parallel_per_broker))

    async def ask(piece: Sequence[ConfigResource]) -> dict[ConfigResource, Mapping[str, str | None]]:
        async with slots:
            try:
                described = await admin.describe_configs(piece, timeout=limits.timeout_ms / 1000)
            except KafkaError:
                return {}
        return {
            resource: changed_settings(found)
            for resource, found in described.items()
            if not isinstance(found, KafkaError)
        }

    parts = await asyncio.gather(*(ask(piece) for piece in pieces))
    return {resource: settings for part in parts for resource, settings in part.items()}
