"""Makes methods of a client from those of its part `_core`, so that a signature and its docstring exist once.

    class AsyncAdminClient:
        create_topics = delegated(topics.create_topics)  # from a function whose first argument is the core

    class AdminClient:
        create_topics = blocking(AsyncAdminClient.create_topics)  # waits for the result

Type checkers and `inspect.signature` see the parameters and the result of the original. Methods that are called for
every record are written out instead, because a method made here costs one more call. Knows nothing of Kafka.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")


class Delegating(Protocol[C_co]):
    """A client that wraps a core."""

    @property
    def _core(self) -> C_co: ...


class Blocking(Delegating[C_co], Protocol[C_co]):
    """A client that blocks until its core has completed a call on a loop."""

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, computed on the loop."""
        ...


def delegated(method: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Delegating[C], P], T]:
    """A method that calls the core's; if that is a coroutine function, so is this."""

    @functools.wraps(method)
    def call(self: Delegating[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self._core, *args, **kwargs)

    return call


def blocking(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Blocking[C], P], T]:
    """A method that blocks until the core's coroutine has completed."""

    @functools.wraps(method)
    def call(self: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self._core, *args, **kwargs))

    return call


def on_loop(method: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Blocking[C], P], T]:
    """A method that calls the core's on the loop, for a method that is not a coroutine function."""

    async def called(core: C, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(core, *args, **kwargs)

    @functools.wraps(method)
    def call(self: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(called(self._core, *args, **kwargs))

    return call
