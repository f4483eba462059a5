"""A broker that wants to stop asks the controller more than once (virtual time, ZooKeeper in memory)."""

import asyncio

import pytest

from kafka_py.broker import controlled_shutdown as leaving
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.controlled_shutdown import ControlledShutdownResponse, RemainingPartition
from kafka_py.zk.store import ZkStore

STUCK = ControlledShutdownResponse(
    error_code=0, remaining_partitions=[RemainingPartition(topic_name="t", partition_index=0)]
)
DONE = ControlledShutdownResponse(error_code=0, remaining_partitions=[])


@pytest.mark.parametrize(
    ("answers", "succeeded", "tries_at_ms"),
    [
        ([DONE], True, [0]),
        ([STUCK, DONE], True, [0, 5_000]),
        ([STUCK, OSError("connection refused"), STUCK, DONE], False, [0, 5_000, 10_000]),
        ([None, None, None, DONE], False, [0, 5_000, 10_000]),
    ],
    ids=["moved", "moved late", "stuck", "no controller"],
)
def test_w6_16_a_controller_that_cannot_move_all_is_asked_three_times(monkeypatch, answers, succeeded, tries_at_ms):
    """W6.16: the broker retries, three tries in all, 5000 ms apart."""
    asked = []

    async def ask(*_, **_named):
        asked.append(round(asyncio.get_running_loop().time() * 1000))
        answer = answers[len(asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(leaving, "_ask", ask)
    config = BrokerConfig.parse({"zookeeper.connect": "z:1"})

    async def scenario():
        began = round(asyncio.get_running_loop().time() * 1000)
        store = ZkStore(FakeZookeeper().session())
        ended = await leaving.leave_in_order(store, 1, lambda: 7, config, "PLAINTEXT")
        return ended, [at - began for at in asked]

    assert run_virtual(scenario()) == (succeeded, tries_at_ms)
