"""What becomes of an event during whose processing the ZooKeeper session ends. Elections are in tests/simulation."""

import asyncio
from types import SimpleNamespace

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.supervision import Supervisor
from kafka_py.controller.controller import Controller
from kafka_py.controller.event_queue import EventQueue, QueuedEvent
from kafka_py.controller.events import ListPartitionReassignments, ShutdownEventThread
from kafka_py.testing.clock import ManualClock
from kafka_py.zk.session import AuthFailed, SessionClosed, SessionExpired


@pytest.mark.parametrize("end", [SessionExpired, AuthFailed, SessionClosed])
def test_the_caller_is_sent_to_the_next_controller_and_no_failure_is_reported(end):
    async def run():
        async def dispatch(_queued):
            raise end()

        supervisor = Supervisor(ManualClock())
        queued = QueuedEvent(ListPartitionReassignments(None), 0)
        await Controller._process(SimpleNamespace(_dispatch=dispatch, _supervisor=supervisor), queued)
        with pytest.raises(KafkaError) as refused:
            await queued.answer
        assert refused.value.code is ErrorCode.NOT_CONTROLLER
        assert not supervisor.failures

    asyncio.run(run())


def test_an_event_is_in_the_queue_until_it_has_its_turn():
    """When the controller is shut down meanwhile, it is dropped with the others."""

    async def run():
        clock = ManualClock()
        queue = EventQueue(clock)
        queued = queue.put(ListPartitionReassignments(None))
        controller = SimpleNamespace(
            _queue=queue, _next=queue.take, _clock=clock, _turn_ends_ms=clock.monotonic_ms()
        )
        taking = asyncio.create_task(Controller._take_event(controller))
        await asyncio.sleep(0)
        assert not taking.done()
        queue.clear_and_put(ShutdownEventThread())
        taking.cancel()
        with pytest.raises(KafkaError) as refused:
            await asyncio.wait_for(queued.answer, 10)
        assert refused.value.code is ErrorCode.NOT_CONTROLLER

    asyncio.run(run())
