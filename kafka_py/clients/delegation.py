"""Methods of a client that are methods of its part `_core`: a signature and its docstring are in one place.

    class AsyncAdminClient:
        create_topics = delegated(topics.create_topics)  # from a function whose first argument is the core

    class AdminClient:
        create_topics = blocking(AsyncAdminClient.create_topics)  # waits for the result

Type checkers see the parameters and the result of what is given; `inspect.signature` does so too. What is called for
every record is written out instead: a method made here is one call more. Knows nothing of Kafka.
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
    """A client around what does its work."""

    @property
    def _core(self) -> C_co: ...


class Blocking(Delegating[C_co], Protocol[C_co]):
    """A client that waits for what its core does on a loop."""

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, computed on the loop."""
        ...


def delegated(method: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Delegating[C], P], T]:
    """The method of the core, called where the client's is: a coroutine of the core's is one of the client's."""

    @functools.wraps(method)
    def call(self: Delegating[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(self._core, *args, **kwargs)

    return call


def blocking(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Blocking[C], P], T]:
    """The coroutine of the core, waited for."""

    @functools.wraps(method)
    def call(self: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self._core, *args, **kwargs))

    return call


def on_loop(method: Callable[Concatenate[C, P], T]) -> Callable[Concatenate[Blocking[C], P], T]:
    """The method of the core, which waits for nothing but has to be called on the loop."""

    async def called(core: C, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(core, *args, **kwargs)

    @functools.wraps(method)
    def call(self: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(called(self._core, *args, **kwargs))

    return call
