"""Base of all typed reads and writes: fenced writes, recursive create and delete, set-or-create, bulk reads.

Knows paths only as arguments. The parts of the store (brokers.py, topics.py ...) share one ZkAccess, which store.py
creates. Source: docs/reference/zookeeper.md, section 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.zk.session import (
    ANY_VERSION,
    BadVersion,
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiFailed,
    NodeExists,
    NoNode,
    NotEmpty,
    OpResult,
    SetOp,
    Stat,
    Watch,
    ZkError,
    ZkSession,
    path_parents,
)
from kafka_py.zk.znodes import ControllerEpochZNode

T = TypeVar("T")

Found = tuple[bytes | None, Stat]
"""A znode that exists: its data and Stat."""

NOT_FENCED = ANY_VERSION
"""As `epoch_zk_version`: the write is not fenced."""


class ControllerMoved(KafkaError):
    """Another broker was elected controller: the znode version of /controller_epoch is not the remembered one."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(ErrorCode.STALE_CONTROLLER_EPOCH, detail or "another broker has become controller")


PIPELINE_WIDTH = 64
"""Concurrent calls: more than a session has in flight, few enough to be resumed in one turn of the loop if each then
asks a Turn before it does more than a few microseconds of work."""

BATCH_SIZE = 50
"""Writes sent as one request, an even number. A request may have 1 MiB (jute.maxbuffer); these have 30,000 bytes where
topics have the longest names."""


async def pipelined(calls: Iterable[Coroutine[Any, Any, T]], width: int = PIPELINE_WIDTH) -> list[T | Exception]:
    """Runs all calls, many at a time and started in order; returns the results in order, a failed one as its exception.

    width: how many at a time: as many as may go on or start in one turn of the loop, when all replies come together.
    A call is taken from `calls` only when it starts: creating very many coroutines at once would take long.
    """
    results: list[Any] = []
    remaining: Iterator[Coroutine[Any, Any, T]] = iter(calls)
    first = list(islice(remaining, width))
    remaining = chain(first, remaining)

    async def work() -> None:
        for call in remaining:
            place = len(results)
            results.append(None)
            try:
                results[place] = await call
            except Exception as error:
                results[place] = error

    try:
        await asyncio.gather(*(work() for _ in first))
        return results
    finally:
        for call in remaining:  # only if this was cancelled
            call.close()
        results = []  # breaks a reference cycle: a failure's traceback refers to `work`, which refers to the results


def raise_first(results: Iterable[Any]) -> None:
    """Raises the first exception among the results of `pipelined`."""
    for result in results:
        if isinstance(result, BaseException):
            raise result


class ZkAccess:
    """Reads and writes of znodes by path, over one session.

    epoch_zk_version, wherever it is an argument: the version of /controller_epoch remembered at election, which fences
    the write (raises ControllerMoved); NOT_FENCED for writers that are not the controller.
    """

    def __init__(self, session: ZkSession) -> None:
        self.session = session

    async def read(self, path: str, watch: Watch | None = None) -> Found | None:
        """Data and Stat, None if there is no such znode (no watch is set then)."""
        try:
            return await self.session.get(path, watch)
        except NoNode:
            return None

    async def read_many(self, paths: Iterable[str], watch: Watch | None = None) -> list[Found | None]:
        """`read` of each path, pipelined. Raises the first error other than NoNode."""
        results = await pipelined(self.read(path, watch) for path in paths)
        raise_first(results)
        return results  # type: ignore[return-value]

    async def children_or_empty(self, path: str, watch: Watch | None = None) -> list[str]:
        """Names of the children; none if there is no such znode (no watch is set then)."""
        try:
            return await self.session.children(path, watch)
        except NoNode:
            return []

    async def fenced(self, op: CreateOp | SetOp | DeleteOp, epoch_zk_version: int) -> OpResult:
        """Sends one write; unless NOT_FENCED, together with a check of the controller epoch's version.

        Returns the result of the write, and raises its errors, as if it were sent alone. Raises ControllerMoved if the
            check finds another version; other errors of the check are raised unchanged.
        """
        if epoch_zk_version == NOT_FENCED:
            return await self._send(op)
        try:
            results = await self.session.multi([CheckOp(ControllerEpochZNode.path(), epoch_zk_version), op])
        except MultiFailed as failure:
            if failure.index == 0 and isinstance(failure.error, BadVersion):
                raise ControllerMoved(f"{op.path} was not written: {failure.error}") from None
            raise failure.error from None
        return results[1]

    async def fenced_many(
        self, ops: Sequence[CreateOp | SetOp | DeleteOp], epoch_zk_version: int
    ) -> list[OpResult | ZkError]:
        """Sends each write as `fenced` does; the results in order, a failed one as its ZkError. Raises ControllerMoved.

        They are carried out in order unless one fails, many per request, which costs client and server far less than
        single requests.
        """
        batches = [ops[first : first + BATCH_SIZE] for first in range(0, len(ops), BATCH_SIZE)]
        results: list[Any] = await pipelined(self._fenced_batch(batch, epoch_zk_version) for batch in batches)
        raise_first(results)
        return [result for batch in results for result in batch]

    async def _fenced_batch(
        self, ops: Sequence[CreateOp | SetOp | DeleteOp], epoch_zk_version: int
    ) -> list[OpResult | ZkError]:
        """Sends all writes as one request; if one of them fails, none was carried out, and they are sent one by one."""
        fence = [] if epoch_zk_version == NOT_FENCED else [CheckOp(ControllerEpochZNode.path(), epoch_zk_version)]
        try:
            return [*(await self.session.multi([*fence, *ops]))[len(fence) :]]
        except MultiFailed as failure:
            if fence and failure.index == 0 and isinstance(failure.error, BadVersion):
                raise ControllerMoved(f"{ops[0].path} was not written: {failure.error}") from None
        except ZkError as error:
            return [error] * len(ops)
        results: list[Any] = await pipelined(self.fenced(op, epoch_zk_version) for op in ops)
        raise_first(result for result in results if not isinstance(result, ZkError))
        return results

    async def _send(self, op: CreateOp | SetOp | DeleteOp) -> OpResult:
        match op:
            case CreateOp():
                return (await self.session.create(op.path, op.data, ephemeral=op.ephemeral, sequence=op.sequence))[0]
            case SetOp():
                return await self.session.set(op.path, op.data, op.version)
            case DeleteOp():
                await self.session.delete(op.path, op.version)
                return None

    async def create_recursive(
        self, path: str, data: bytes | None = None, *, sequence: bool = False, epoch_zk_version: int = NOT_FENCED
    ) -> str:
        """Creates a persistent znode and, where missing, its parents with null data; returns the path as created.

        Raises NodeExists for the znode itself, never for a parent.
        """
        op = CreateOp(path, data, sequence=sequence)
        try:
            return str(await self.fenced(op, epoch_zk_version))
        except NoNode:
            pass
        missing = path_parents(path)
        if not missing:
            raise NoNode(path, "the chroot does not exist")
        for index, parent in enumerate(missing):
            # Nearest first: usually one parent is missing, so this takes two requests instead of one per level.
            try:
                await self.fenced(CreateOp(parent), epoch_zk_version)
            except NodeExists:
                pass
            except NoNode:
                if index == len(missing) - 1:
                    raise
                continue
            return await self._create_below(missing[:index], op, epoch_zk_version)
        raise NoNode(path)

    async def _create_below(self, missing: list[str], op: CreateOp, epoch_zk_version: int) -> str:
        for parent in reversed(missing):
            try:
                await self.fenced(CreateOp(parent), epoch_zk_version)
            except NodeExists:
                pass
        return str(await self.fenced(op, epoch_zk_version))

    async def ensure_path(self, path: str) -> None:
        """Creates a persistent znode with null data, and its parents, unless it exists."""
        try:
            await self.create_recursive(path)
        except NodeExists:
            pass

    async def set_or_create(self, path: str, data: bytes, *, epoch_zk_version: int = NOT_FENCED) -> None:
        """Writes a znode with any version; creates it and its parents if missing."""
        try:
            await self.fenced(SetOp(path, data), epoch_zk_version)
        except NoNode:
            try:
                await self.create_recursive(path, data, epoch_zk_version=epoch_zk_version)
            except NodeExists:
                await self.fenced(SetOp(path, data), epoch_zk_version)

    async def update(
        self,
        path: str,
        change: Callable[[Found | None], Awaitable[bytes | None]],
        *,
        epoch_zk_version: int = NOT_FENCED,
    ) -> bool:
        """Reads a znode and writes what `change` returns; retried if another client wrote it meanwhile.

        change: the znode (None if missing) -> its new data, or None to leave it unchanged; its exceptions are raised
        here. A missing znode is created with its parents. Returns whether it was written.
        """
        attempt: tuple[bytes, int] | None = None
        while True:
            found = await self.read(path)
            if attempt is not None and found is not None and attempt == (found[0], found[1].version):
                return True  # our write was carried out, its response was lost, and it was resent
            data = await change(found)
            if data is None:
                return False
            if found is None:
                try:
                    await self.create_recursive(path, data, epoch_zk_version=epoch_zk_version)
                    return True
                except NodeExists:
                    attempt = data, 0
            else:
                try:
                    await self.fenced(SetOp(path, data, found[1].version), epoch_zk_version)
                    return True
                except (BadVersion, NoNode):
                    attempt = data, found[1].version + 1

    async def delete_if_present(self, path: str, *, epoch_zk_version: int = NOT_FENCED) -> bool:
        """Deletes a childless znode with any version; whether it existed."""
        try:
            await self.fenced(DeleteOp(path), epoch_zk_version)
        except NoNode:
            return False
        return True

    async def delete_many(self, paths: Iterable[str], *, epoch_zk_version: int = NOT_FENCED) -> None:
        """Deletes childless znodes, many at a time; missing ones count as deleted. Raises the first other error."""
        results = await self.fenced_many([DeleteOp(path) for path in paths], epoch_zk_version)
        raise_first(result for result in results if not isinstance(result, NoNode))

    async def delete_recursive(self, path: str, *, epoch_zk_version: int = NOT_FENCED) -> bool:
        """Deletes a znode and all its descendants, level by level from the bottom; whether it existed.

        It starts over if a child is created meanwhile.
        """
        while True:
            levels = [[path]]
            while children := await self._children_of(levels[-1]):
                levels.append(children)
            try:
                for level in reversed(levels[1:]):
                    await self.delete_many(level, epoch_zk_version=epoch_zk_version)
                return await self.delete_if_present(path, epoch_zk_version=epoch_zk_version)
            except NotEmpty:
                continue

    async def _children_of(self, paths: list[str]) -> list[str]:
        results = await pipelined(self.children_or_empty(path) for path in paths)
        raise_first(results)
        return [
            f"{path.rstrip('/')}/{name}"
            for path, names in zip(paths, results, strict=True)
            if isinstance(names, list)
            for name in names
        ]
