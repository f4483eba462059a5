"""The queue: order, pre-emption, and those who wait for an event."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.controller.events import (
    Asked,
    BrokerChange,
    ControlledShutdown,
    ControllerState,
    Event,
    EventQueue,
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
        codes = [event.answer.exception().code for event in waiting]
        assert codes == [ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_CONTROLLER_EPOCH]
        assert (await queue.take()).event is expire.event

    run_virtual(run())


def test_an_answer_is_given_once():
    async def run():
        event = ListPartitionReassignments(None)
        event.reply({})
        event.preempt()
        assert await event.answer == {}
        refused = ListPartitionReassignments(None)
        refused.refuse(KafkaError(ErrorCode.NOT_CONTROLLER))
        refused.reply({})
        with pytest.raises(KafkaError):
            await refused.answer

    run_virtual(run())


def test_every_event_has_a_state_and_a_handler():
    from kafka_py.controller.controller import _OWN_EVENTS
    from kafka_py.controller.event_handlers import HANDLERS

    def all_of(cls):
        return {cls, *(leaf for sub in cls.__subclasses__() for leaf in all_of(sub))}

    kinds = all_of(Event) - {Event, Asked}
    assert kinds == HANDLERS.keys() | _OWN_EVENTS.keys()
    assert all(isinstance(kind.state, ControllerState) for kind in kinds)
