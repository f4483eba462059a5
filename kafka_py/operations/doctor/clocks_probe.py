"""The clocks of brokers, from the times that they give to records of a topic with LogAppendTime.

Produce answers with the broker's own time at the append, so one small record is sent to a partition of each broker.
That writes to a topic, and is done only where the user names one for it. No other response of a 2.8 broker has its
time. Source: KIP-32 (log append time in responses to Produce).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.clients.producer.producer import AsyncProducer
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.doctor.examination import ClockSeen

MARK = b"written by kafka-py doctor to compare clocks"


async def look_at_clocks(
    configs: Mapping[str, Any], snapshot: ClusterSnapshot, topic: str, clock: Clock, timeout_s: float
) -> tuple[tuple[ClockSeen, ...], list[str]]:
    """The clocks of the leaders of this topic, and what could not be seen."""
    info = snapshot.topics.get(topic)
    if info is None:
        return (), [f"clocks: there is no topic {topic}"]
    leaders = {each.leader: each.partition for each in reversed(info.partitions) if each.leader in snapshot.nodes}
    clocks: list[ClockSeen] = []
    unchecked = [
        f"clock of broker {broker}: it leads no partition of {topic}"
        for broker in snapshot.nodes if broker not in leaders
    ]  # fmt: skip
    async with AsyncProducer({**configs, "linger.ms": 0, "acks": "1"}) as producer:
        try:
            for broker, partition in sorted(leaders.items()):
                try:
                    async with asyncio.timeout(timeout_s):
                        clocks.append(await _clock_of(broker, producer, topic, partition, clock))
                except (KafkaError, TimeoutError) as error:
                    unchecked.append(f"clock of broker {broker}: {str(error) or 'no answer in time'}")
        finally:
            await producer.close(0)  # what a broker has not answered is not waited for
    return tuple(clocks), unchecked


async def _clock_of(broker: int, producer: AsyncProducer, topic: str, partition: int, clock: Clock) -> ClockSeen:
    await _append_ms(producer, topic, partition)  # connects, so that only the second one is timed
    began_ms = clock.wall_ms()
    there_ms = await _append_ms(producer, topic, partition)
    ended_ms = clock.wall_ms()
    ahead_ms = there_ms - (began_ms + ended_ms) / 2
    source = f"the append time of a record in {topic}"
    return ClockSeen(f"broker {broker}", source, ahead_ms, (ended_ms - began_ms) / 2 + 1)


async def _append_ms(producer: AsyncProducer, topic: str, partition: int) -> int:
    sent = await producer.send(topic, MARK, partition=partition)
    return (await sent).timestamp
