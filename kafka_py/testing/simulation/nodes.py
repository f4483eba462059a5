"""An event loop shared by many nodes, each of which can be killed or paused while the others continue.

A node is what a process is elsewhere. Every callback belongs to the node in whose context it was registered; tasks and
timers inherit it. Built on virtual_time.py; knows nothing of brokers.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple, Unpack, cast

from kafka_py.testing.virtual_time import VirtualLoop

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_NODE: contextvars.ContextVar[SimulatedNode | None] = contextvars.ContextVar("node", default=None)


def current_node() -> SimulatedNode | None:
    """The node that runs now; None for the driver of the simulation."""
    return _NODE.get()


class SimulatedNode:
    """One life of a simulated process."""

    def __init__(self, loop: NodeLoop, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.is_paused = False
        self._loop = loop
        self._held: list[_Owned] = []
        self.readers: dict[tuple[int, str], tuple[Callable[..., object], tuple[Any, ...]]] = {}
        """By (descriptor, "read" or "write"): what the node waits for."""
        context = contextvars.copy_context()
        context.run(_NODE.set, self)
        self.context = context

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task of this node."""
        return self._loop.create_task(work, context=self.context.copy())

    def hold(self, owned: _Owned) -> None:
        """Called instead of a callback while the node is paused."""
        self._held.append(owned)

    def pause(self) -> None:
        """SIGSTOP: nothing of it runs, its sockets stay open."""
        self.is_paused = True
        for descriptor, kind in self.readers:
            self._loop.unwatch(descriptor, kind)

    def resume(self) -> None:
        """SIGCONT: what came due meanwhile runs now, in its order."""
        if not self.is_paused or self.is_dead:
            return
        self.is_paused = False
        held, self._held = self._held, []
        for owned in held:
            self._loop.call_soon(owned.catch_up, context=owned.context)
        for (descriptor, kind), (callback, arguments) in list(self.readers.items()):
            self._loop.watch(descriptor, kind, self, callback, arguments)

    def kill(self) -> None:
        """SIGKILL: nothing of it ever runs again. Its descriptors are the network's to close."""
        self.is_dead = True
        for descriptor, kind in list(self.readers):
            self._loop.unwatch(descriptor, kind)
        self.readers.clear()
        self._held.clear()


class _Owned:
    """A callback that runs only while its node lives."""

    __slots__ = ("arguments", "callback", "context", "handle", "node")

    def __init__(self, node: SimulatedNode, callback: Callable[..., object], context: contextvars.Context) -> None:
        self.node = node
        self.callback = callback
        self.context = context
        self.arguments: tuple[Any, ...] = ()
        self.handle: asyncio.Handle | None = None

    def __call__(self, *arguments: Any) -> None:
        node = self.node
        if node.is_dead:
            return
        if node.is_paused:
            self.arguments = arguments
            node.hold(self)
        else:
            self.callback(*arguments)

    def catch_up(self) -> None:
        """Runs after the pause, unless what ran before it has cancelled it."""
        if self.handle is None or not self.handle.cancelled():
            self.callback(*self.arguments)


class NodeLoop(VirtualLoop):
    """Virtual time for many nodes."""

    def node(self, name: str) -> SimulatedNode:
        return SimulatedNode(self, name)

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        node = context.get(_NODE)
        if node is None:
            return super().call_soon(callback, *args, context=context)
        owned = _Owned(node, callback, context)
        owned.handle = handle = super().call_soon(cast("Any", owned), *args, context=context)
        return handle

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:  # fmt: skip
        context = contextvars.copy_context() if context is None else context
        node = context.get(_NODE)
        if node is None:
            return super().call_at(when, callback, *args, context=context)
        owned = _Owned(node, callback, context)
        owned.handle = handle = super().call_at(when, cast("Any", owned), *args, context=context)
        return handle

    def add_reader(self, fd: FileDescriptorLike, callback: Callable[[Unpack[Ts]], Any], *args: *Ts) -> None:
        self._add(fd, "read", callback, args)

    def add_writer(self, fd: FileDescriptorLike, callback: Callable[[Unpack[Ts]], Any], *args: *Ts) -> None:
        self._add(fd, "write", callback, args)

    def _add(
        self, fd: FileDescriptorLike, kind: str, callback: Callable[..., object], arguments: tuple[Any, ...]
    ) -> None:
        descriptor = fd if isinstance(fd, int) else fd.fileno()
        node = _NODE.get()
        if node is not None:
            if node.is_dead:
                return
            node.readers[descriptor, kind] = callback, arguments
            if node.is_paused:
                return
        self.watch(descriptor, kind, node, callback, arguments)

    def watch(
        self,
        descriptor: int,
        kind: str,
        node: SimulatedNode | None,
        callback: Callable[..., object],
        arguments: tuple[Any, ...],
    ) -> None:
        """Calls back, in the node's context, while the descriptor is ready."""
        add = super().add_reader if kind == "read" else super().add_writer
        if node is None:
            add(descriptor, callback, *arguments)
        else:
            node.context.run(add, descriptor, callback, *arguments)

    def unwatch(self, descriptor: int, kind: str) -> None:
        if kind == "read":
            super().remove_reader(descriptor)
        else:
            super().remove_writer(descriptor)

    def remove_reader(self, fd: FileDescriptorLike) -> bool:
        return self._remove(fd, "read")

    def remove_writer(self, fd: FileDescriptorLike) -> bool:
        return self._remove(fd, "write")

    def _remove(self, fd: FileDescriptorLike, kind: str) -> bool:
        descriptor = fd if isinstance(fd, int) else fd.fileno()
        node = _NODE.get()
        if node is not None:
            node.readers.pop((descriptor, kind), None)
        self.unwatch(descriptor, kind)
        return True


class InlineExecutor(ThreadPoolExecutor):
    """Runs what it is given at once: a thread would work in real time, while virtual time runs away."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future
