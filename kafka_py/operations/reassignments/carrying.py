"""Begins, watches, throttles and cancels moves of replicas, through the asyncio admin client.

A move is throttled by settings: of topics, which of their replicas are; of brokers, how much they may copy (KIP-73).
They outlive the moves: kept_throttles.py says what is removed when those are over.
Source: KIP-73, KIP-455.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.clients.admin.resources import (
    AlterConfig,
    AlterOperation,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from kafka_py.operations.reassignments.plans import Replicas
from kafka_py.operations.reassignments.replica_moves import planned_moves
from kafka_py.operations.rebalancing import throttles

RATES = throttles.REPLICATION_RATES


class ThrottleSeen(NamedTuple):
    """The throttles that are set. rates: by broker, bytes per second. topics: those with throttled replicas."""

    rates: dict[int, int]
    topics: list[str]

    @property
    def is_set(self) -> bool:
        return bool(self.rates or self.topics)


class BegunMoves(NamedTuple):
    """What came of a plan. refused: why the controller did not begin with some."""

    begun: list[TopicPartition]
    refused: dict[TopicPartition, KafkaError]


SetThrottle = Callable[[throttles.Moves], Awaitable[None]]
"""Throttles moves; what is to be removed later may be noted."""


async def begin(
    admin: AsyncAdminClient, targets: Replicas, current: Replicas, set_throttle: SetThrottle | None = None
) -> BegunMoves:
    """Sets the throttle first, where there is one, then begins the moves. Raises KafkaError, PlanError."""
    if set_throttle is not None:
        await set_throttle(planned_moves(await admin.list_partition_reassignments(), targets, current))
    answers = await admin.alter_partition_reassignments({each: list(ids) for each, ids in targets.items()})
    refused = answers.errors()
    return BegunMoves([each for each in targets if each not in refused], refused)


async def seen_throttles(
    admin: AsyncAdminClient, brokers: Collection[int], topics: Collection[str]
) -> ThrottleSeen:
    """The throttles of these brokers and topics; what cannot be described counts as not throttled."""
    asked: dict[ConfigResource, Sequence[str]] = {
        ConfigResource(ConfigResourceType.BROKER, str(broker)): RATES for broker in brokers
    }
    asked |= {ConfigResource(ConfigResourceType.TOPIC, topic): throttles.TOPIC_THROTTLES for topic in topics}
    rates: dict[int, int] = {}
    throttled = []
    for resource, entries in (await admin.describe_configs(asked) if asked else {}).items():
        if isinstance(entries, KafkaError):
            continue
        if resource.type is ConfigResourceType.TOPIC:
            if any(entry.value for entry in entries.values()):
                throttled.append(resource.name)
            continue
        found = [
            int(entry.value) for entry in entries.values()
            if entry.value and entry.source is ConfigSource.DYNAMIC_BROKER_CONFIG
        ]  # fmt: skip
        if found:
            rates[int(resource.name)] = min(found)
    return ThrottleSeen(dict(sorted(rates.items())), sorted(throttled))


async def clear_throttles(admin: AsyncAdminClient, brokers: Collection[int], topics: Collection[str]) -> None:
    """Removes all throttles of these brokers and topics. Raises KafkaError."""
    changes = {
        ConfigResource(ConfigResourceType.BROKER, str(broker)): _deletions(RATES) for broker in brokers
    } | {
        ConfigResource(ConfigResourceType.TOPIC, topic): _deletions(throttles.TOPIC_THROTTLES) for topic in topics
    }  # fmt: skip
    if changes:
        (await admin.incremental_alter_configs(changes)).all()


def _deletions(names: Sequence[str]) -> list[AlterConfig]:
    return [AlterConfig(name, None, AlterOperation.DELETE) for name in names]


async def cancel(
    admin: AsyncAdminClient, running: Mapping[TopicPartition, PartitionReassignment]
) -> dict[TopicPartition, KafkaError]:
    """Cancels moves; replicas that were being added are dropped. Returns why some could not be."""
    return (await admin.alter_partition_reassignments(dict.fromkeys(running))).errors()


def progress_percent(
    move: PartitionReassignment, leader: int, sizes: Mapping[int, int]
) -> int | None:
    """How much of the new replicas is copied, by size: 0 to 100; None if the sizes are not known.

    sizes: of the partition's replicas by broker. An empty partition is copied at once.
    """
    whole = sizes.get(leader)
    if whole is None:
        return None
    wanted = whole * len(move.adding)
    if not wanted:
        return 100 if not move.adding else 0
    return min(99, 100 * sum(min(whole, sizes.get(broker, 0)) for broker in move.adding) // wanted)
