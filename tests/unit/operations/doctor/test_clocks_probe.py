"""The clocks of brokers by the append times of records, where some do not answer."""

from __future__ import annotations

import asyncio
import uuid
from types import SimpleNamespace
from typing import Any, Self

import pytest

from kafka_py.clients.metadata import Node, PartitionInfo, TopicInfo
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.doctor import clocks_probe
from kafka_py.testing.clock import ManualClock

AHEAD_MS = 7_000


class PartlyAnswered:
    """A producer: partition 0 is answered by a broker whose clock is ahead, partition 1 is not answered."""

    closed_with: list[float | None] = []

    def __init__(self, _configs: dict[str, Any]) -> None:
        self.closed_with.clear()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, _topic: str, _value: bytes, partition: int) -> asyncio.Future[Any]:
        answered = asyncio.get_running_loop().create_future()
        if partition == 0:
            answered.set_result(SimpleNamespace(timestamp=ManualClock().wall_ms() + AHEAD_MS))
        return answered

    async def close(self, timeout: float | None = None) -> None:
        self.closed_with.append(timeout)


def test_a_broker_that_does_not_answer_holds_it_up_for_its_time_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer would wait for delivery.timeout.ms when it is closed."""
    monkeypatch.setattr(clocks_probe, "AsyncProducer", PartlyAnswered)
    partitions = tuple(PartitionInfo("t", number, number + 1, 1, (number + 1,), (number + 1,), ()) for number in (0, 1))
    snapshot = ClusterSnapshot(
        0, nodes={number: Node(number, "a", 9092) for number in (1, 2, 3)},
        topics={"t": TopicInfo("t", uuid.UUID(int=1), False, partitions)},
    )  # fmt: skip
    clocks, unchecked = asyncio.run(clocks_probe.look_at_clocks({}, snapshot, "t", ManualClock(), 0.01))
    assert [(seen.broker, seen.ahead_ms) for seen in clocks] == [("broker 1", AHEAD_MS)]
    assert unchecked == ["clock of broker 3: it leads no partition of t", "clock of broker 2: no answer in time"]
    assert PartlyAnswered.closed_with[0] == 0
