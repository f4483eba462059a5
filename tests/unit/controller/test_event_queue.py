"""The queue: order, pre-emption, and those who wait for an event."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.controller.event_queue import EventQueue, QueuedEvent
from kafka_py.controller.events import (
    BrokerChange,
    ControlledShutdown,
    Expire,
    ListPartitionReassignments,
    TopicChange,
)
from kafka_py.testing.virtual_time import run_virtual, virtual_clock


def test_events_come_out_in_the_order_in_which_they_went_in():
    async def run():
        queue = EventQueue(virtual_clock())
        taker = asyncio.ensure_future(queue.take())
        await asyncio.sleep(0.25)
        first, second = BrokerChange(), TopicChange()
        queue.put(first)
        queue.put(second)
        assert len(queue) == 2
        taken = [await taker, await queue.take()]
        assert [queued.event for queued in taken] == [first, second]
        assert taken[0].enqueued_ms == 250
        assert len(queue) == 0

    run_virtual(run())


def test_clear_and_put_preempts_every_waiting_event_once():
    async def run():
        queue = EventQueue(virtual_clock())
        waiting = [ListPartitionReassignments(None), ControlledShutdown(1, 5)]
        queued = [queue.put(event) for event in waiting] + [queue.put(BrokerChange())]
        expire = queue.clear_and_put(Expire())
        assert all(one.started.done() for one in queued)
        assert not expire.started.done()
        codes = [one.answer.exception().code for one in queued if one.answer is not None]
        assert codes == [ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_CONTROLLER_EPOCH]
        assert (await queue.take()).event is expire.event

    run_virtual(run())


def test_an_answer_is_given_once():
    async def run():
        asked = QueuedEvent(ListPartitionReassignments(None), 0)
        asked.reply({})
        asked.preempt()
        assert await asked.answer == {}
        refused = QueuedEvent(ListPartitionReassignments(None), 0)
        refused.refuse(KafkaError(ErrorCode.NOT_CONTROLLER))
        refused.reply({})
        with pytest.raises(KafkaError):
            await refused.answer

    run_virtual(run())
