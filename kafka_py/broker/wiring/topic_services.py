"""What a coordinator's runtime needs of the broker for its topic: an append, the logs, threads, tasks.

Source: docs/reference/groups.md, sections 1 and 10.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from functools import partial
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.broker.wiring.broker_environment import BrokerEnvironment
from kafka_py.coordinator.runtime import Appended, RuntimeServices
from kafka_py.log.model.answers import Origin
from kafka_py.log.partition.partition_log import PartitionLog
from kafka_py.replication.leader.delayed import AppendResult
from kafka_py.replication.leader.replica_manager import ReplicaManager


def services_of_topic(
    env: BrokerEnvironment, replicas: ReplicaManager, topic: str, activity: str, loaded: Callable[[float], None]
) -> RuntimeServices:
    """activity: under which failures are counted. loaded: see RuntimeServices."""

    def append(partition: int, batch: bytes, acks: int, timeout_ms: int, on_done: Appended) -> None:
        def appended(results: list[AppendResult]) -> None:
            result = results[0]
            on_done(result.error, result.base_offset)

        replicas.appends.append(
            [(TopicPartition(topic, partition), memoryview(bytearray(batch)))],
            acks,
            timeout_ms,
            appended,
            origin=Origin.COORDINATOR,
            internal_topics_allowed=True,
        )

    def log_of(partition: int) -> PartitionLog | None:
        found = replicas.hosted.partitions.get(TopicPartition(topic, partition))
        return found.log if found is not None and found.is_leader else None

    async def in_thread(work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(env.executor, work)

    return RuntimeServices(
        append=append,
        log_of=log_of,
        in_thread=in_thread,
        spawn=partial(env.supervisor.spawn, activity=activity),
        clock=env.clock,
        # A million offsets live as long as the leadership: the collector must not walk them again and again.
        settle=gc.freeze,
        loaded=loaded,
        supervisor=env.supervisor,
    )
