"""The log directories of each broker, with the sizes of the replicas in them (KIP-113, from Kafka 1.0 on)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.log_dirs import LogDirDescription
from kafka_py.operations.cluster_view.asking import LookRequests
from kafka_py.operations.cluster_view.snapshot import ViewPart


async def log_dirs_of(asker: LookRequests, brokers: Iterable[int]) -> dict[int, Mapping[str, LogDirDescription]]:
    """Broker -> path -> directory, for those that answer."""
    found: dict[int, Mapping[str, LogDirDescription]] = {}

    async def describe(broker: int) -> Mapping[str, LogDirDescription]:
        timeout_s = asker.limits.timeout_ms / 1000
        return (await asker.admin.describe_log_dirs([broker], timeout=timeout_s)).value(broker)

    async def ask(broker: int) -> None:
        try:
            found[broker] = await asker.call(broker, lambda: describe(broker))
        except KafkaError as error:
            asker.note(ViewPart.LOG_DIRS, broker, error)

    await asyncio.gather(*(ask(broker) for broker in brokers))
    return dict(sorted(found.items()))
