"""The table of events."""

import inspect
from pathlib import Path

from kafka_py.controller import decisions
from kafka_py.controller.controller import Controller
from kafka_py.controller.decisions.batch import ControllerRequest
from kafka_py.controller.decisions.machine import HANDLERS, event_of_reply
from kafka_py.controller.events import (
    Asked,
    ControllerState,
    Event,
    LeaderAndIsrResponseReceived,
    UpdateMetadataResponseReceived,
)
from kafka_py.controller.model.controller_context import ControllerContext
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrResponse
from kafka_py.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse


def all_of(kind: type[Event]) -> set[type[Event]]:
    return {kind, *(leaf for sub in kind.__subclasses__() for leaf in all_of(sub))}


def test_every_event_has_a_state_and_a_handler() -> None:
    kinds = all_of(Event) - {Event, Asked}
    assert kinds == HANDLERS.keys() | Controller._OWN_EVENTS.keys()
    assert all(isinstance(kind.state, ControllerState) for kind in kinds)


def test_every_handler_is_a_plan() -> None:
    assert all(inspect.isgeneratorfunction(handler) for handler in HANDLERS.values())


def test_what_decides_neither_waits_nor_logs() -> None:
    """Besides what the import contract says: no coroutine is defined in the package."""
    for path in Path(inspect.getfile(decisions)).parent.glob("*.py"):
        assert "async def" not in path.read_text(), path.name


def test_what_brokers_answer_is_an_event() -> None:
    request = ControllerRequest(2, UpdateMetadataRequest(controller_id=1, controller_epoch=1, live_brokers=[]), 7)
    refused = event_of_reply(ControllerContext(), request, UpdateMetadataResponse(error_code=11))
    assert isinstance(refused, UpdateMetadataResponseReceived)
    assert (refused.broker, refused.error_code) == (2, 11)
    response = LeaderAndIsrResponse(error_code=0, partition_errors=[], topics=[])
    event = event_of_reply(ControllerContext(), request, response)
    assert isinstance(event, LeaderAndIsrResponseReceived)
    assert (event.broker, event.response) == (2, response)
    assert event_of_reply(ControllerContext(), request, object()) is None
