"""The API versions that each broker offers, those that this client does not know included."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.operations.cluster_view.asking import LookRequests
from kafka_py.operations.cluster_view.snapshot import ViewPart


async def versions_of(asker: LookRequests, brokers: Iterable[int]) -> dict[int, Mapping[int, VersionRange]]:
    """Broker -> API key -> versions, for those that answer."""
    found: dict[int, Mapping[int, VersionRange]] = {}

    async def ask(broker: int) -> None:
        timeout_s = asker.limits.timeout_ms / 1000
        try:
            found[broker] = await asker.call(broker, lambda: asker.admin.offered_versions(broker, timeout=timeout_s))
        except KafkaError as error:
            asker.note(ViewPart.VERSIONS, broker, error)

    await asyncio.gather(*(ask(broker) for broker in brokers))
    return dict(sorted(found.items()))
