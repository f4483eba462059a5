"""The settings of brokers and topics, as far as this client may see them (KIP-133)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.resources import ConfigEntry, ConfigResource, ConfigResourceType
from kafka_py.operations.doctor.examination import SettingValues

TOPIC_NAMES = ("min.insync.replicas", "unclean.leader.election.enable", "message.timestamp.type", "cleanup.policy")
TOPICS_PER_REQUEST = 200
_OTHER_BROKER = "Unexpected broker id"


class SettingsSeen(NamedTuple):
    """foreign: broker id -> the answer of another broker at its address. unchecked: whose settings are not known."""

    brokers: dict[int, SettingValues]
    foreign: dict[int, str]
    unchecked: list[str]


async def broker_settings(admin: AsyncAdminClient, brokers: Sequence[int], timeout_s: float) -> SettingsSeen:
    """All settings of each broker, secrets left out."""
    seen = SettingsSeen({}, {}, [])

    async def ask(broker: int) -> None:
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker))
        try:
            async with asyncio.timeout(timeout_s):
                entries = (await admin.describe_configs([resource], timeout=timeout_s)).value(resource)
            seen.brokers[broker] = _values(entries)
        except (KafkaError, TimeoutError) as error:
            if isinstance(error, KafkaError) and _is_of_other_broker(error):
                seen.foreign[broker] = error.detail
            else:
                seen.unchecked.append(f"settings of broker {broker}: {_reason(error, timeout_s)}")

    await asyncio.gather(*(ask(broker) for broker in brokers))
    return seen


async def topic_settings(
    admin: AsyncAdminClient, topics: Sequence[str], timeout_s: float
) -> tuple[dict[str, SettingValues], list[str]]:
    """TOPIC_NAMES of each topic, and what could not be seen."""
    found: dict[str, SettingValues] = {}
    unchecked: list[str] = []
    for at in range(0, len(topics), TOPICS_PER_REQUEST):
        some = [ConfigResource(ConfigResourceType.TOPIC, name) for name in topics[at : at + TOPICS_PER_REQUEST]]
        try:
            async with asyncio.timeout(timeout_s):
                results = await admin.describe_configs(dict.fromkeys(some, TOPIC_NAMES), timeout=timeout_s)
        except (KafkaError, TimeoutError) as error:
            unchecked.append(f"settings of {len(some)} topics: {_reason(error, timeout_s)}")
            continue
        for resource, entries in results.items():
            if isinstance(entries, KafkaError):
                unchecked.append(f"settings of topic {resource.name}: {entries}")
            else:
                found[resource.name] = _values(entries)
    return found, unchecked


def _is_of_other_broker(error: KafkaError) -> bool:
    return error.code is ErrorCode.INVALID_REQUEST and _OTHER_BROKER in error.detail


def _values(entries: dict[str, ConfigEntry]) -> SettingValues:
    return {name: None if entry.is_sensitive else entry.value for name, entry in entries.items()}


def _reason(error: Exception, timeout_s: float) -> str:
    return str(error) or f"no answer within {timeout_s:.0f} s"
