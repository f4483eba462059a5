"""A client for blocking code and its twin for asyncio have the same calls: a signature is in one place."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafka_py.clients import AdminClient, AsyncAdminClient, AsyncConsumer, AsyncProducer, Consumer, Producer
from kafka_py.clients.delegation import blocking, delegated, on_loop

TWINS = [(AdminClient, AsyncAdminClient), (Consumer, AsyncConsumer), (Producer, AsyncProducer)]

WRITTEN_OUT: dict[type, set[str]] = {
    AdminClient: {"close"},
    Consumer: {"poll", "wakeup", "close"},
    Producer: {"send", "flush", "close", "transaction"},
}
"""Calls that a thread makes in a way of its own; all others are made from those for asyncio."""
OTHER_PARAMETERS = {(Producer, "flush"), (Producer, "transaction")}
"""A thread may give a time-out where a task is cancelled, and a block is `with` or `async with`."""
ONE_KIND_ONLY: dict[type, set[str]] = {
    AdminClient: {"client_id", "cluster", "know"},
    Consumer: {"client_id", "options", "interceptors", "start", "deliver"},
    Producer: {"start", "send_batch"},
}
"""What the commands and the parts of a client use of one of the two."""


def calls(client: type) -> set[str]:
    return {name for name in dir(client) if not name.startswith("_")}


def pairs() -> list[Any]:
    return [
        pytest.param(ours, theirs, name, id=f"{ours.__name__}.{name}")
        for ours, theirs in TWINS
        for name in sorted(calls(ours) & calls(theirs))
    ]


def parameters(call: Callable[..., object]) -> list[inspect.Parameter]:
    """All but the first, which is the client itself."""
    return list(inspect.signature(call).parameters.values())[1:]


@pytest.mark.parametrize(("ours", "theirs"), TWINS)
def test_both_kinds_of_a_client_have_the_same_calls(ours: type, theirs: type) -> None:
    assert calls(ours) ^ calls(theirs) <= ONE_KIND_ONLY[ours]


@pytest.mark.parametrize(("ours", "theirs"), TWINS)
def test_both_kinds_of_a_client_are_made_from_the_same(ours: type, theirs: type) -> None:
    made = [str(each) for each in parameters(theirs.__init__) if each.name != "call_user"]  # type: ignore[misc]
    assert [str(each) for each in parameters(ours.__init__)] == made  # type: ignore[misc]


@pytest.mark.parametrize(("ours", "theirs", "name"), pairs())
def test_a_call_has_the_same_parameters_result_and_explanation(ours: type, theirs: type, name: str) -> None:
    blocking_call, call = getattr(ours, name), getattr(theirs, name)
    if (ours, name) not in OTHER_PARAMETERS:
        assert parameters(blocking_call) == parameters(call)
        assert inspect.signature(blocking_call).return_annotation == inspect.signature(call).return_annotation
    assert blocking_call.__name__ == call.__name__ == name
    if name in WRITTEN_OUT[ours]:
        assert blocking_call.__doc__
    else:
        assert inspect.unwrap(blocking_call) is inspect.unwrap(call)
        assert blocking_call.__doc__ is call.__doc__


class Core:
    """Counts: its calls note what they were given."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def look(self, what: str) -> str:
        return f"{what} of {len(self.seen)}"

    async def add(self, item: int, *, times: int = 1) -> int:
        self.seen += [item] * times
        return len(self.seen)

    def note(self, item: int) -> None:
        self.seen.append((item, asyncio.get_running_loop()))


class AsyncCounter:
    def __init__(self) -> None:
        self._core = Core()

    add = delegated(Core.add)


class Counter:
    def __init__(self) -> None:
        self._core = Core()
        self.loops: list[asyncio.AbstractEventLoop] = []

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner() as runner:
            self.loops.append(runner.get_loop())
            return runner.run(coroutine)

    look = delegated(Core.look)
    add = blocking(Core.add)
    note = on_loop(Core.note)


def test_a_blocking_call_waits_for_the_result_of_the_core() -> None:
    counter = Counter()
    assert counter.add(7, times=3) == 3
    assert counter.look("size") == "size of 3"


def test_a_call_that_has_to_be_on_the_loop_is_made_there() -> None:
    counter = Counter()
    counter.note(5)
    assert counter._core.seen == [(5, counter.loops[0])]


def test_a_delegated_coroutine_is_awaited_by_the_caller() -> None:
    async def scenario() -> int:
        return await AsyncCounter().add(1)

    assert asyncio.run(scenario()) == 1
