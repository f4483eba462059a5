"""Sequential notifications: ISR changes and log directory events for the controller, and every broker's config changes.

Source: docs/reference/zookeeper.md, sections 10 and 11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from heapq import merge

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.base.texts import listed
from kafka_py.base.turns import sliced
from kafka_py.zk.access import ZkAccess
from kafka_py.zk.config_znodes import ConfigChangesZNode, ConfigChangeZNode
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import (
    ConnectionLoss,
    SessionClosed,
    SessionLost,
    Watch,
    WatchEvent,
    ZkError,
)
from kafka_py.zk.znodes import IsrChangesZNode, IsrChangeZNode, LogDirEventsZNode, LogDirEventZNode, TopicPartitionRow

_log = logging.getLogger(__name__)

EXPIRY_MS = 15 * 60 * 1000
RETRY_S = 1.0
_ACTIVITY = "notifications"
_SLICE = 1024
"""So many names are looked at and sorted before others have the loop; each takes about a microsecond."""

Handler = Callable[[bytes], Awaitable[None]]
Reload = Callable[[], Awaitable[object]]


class NotificationStore:
    """Notifications that only the controller reads. names: the children's names, as listed."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def announce_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        """Notifies the controller of partitions whose ISR this leader changed."""
        rows = [TopicPartitionRow(*partition) for partition in partitions]
        await self._znodes.create_recursive(IsrChangeZNode.path(), IsrChangeZNode(rows).encode(), sequence=True)

    async def isr_changes(self, watch: Watch | None = None) -> list[str]:
        """The pending notifications, oldest first."""
        return sorted(await self._znodes.children_or_empty(IsrChangesZNode.path(), watch))

    async def read_isr_changes(self, names: Iterable[str]) -> set[TopicPartition]:
        """The partitions in these notifications; unreadable ones are logged and ignored."""
        changed: set[TopicPartition] = set()
        found = await self._znodes.read_many(f"{IsrChangesZNode.path()}/{name}" for name in names)
        for one in found:
            try:
                rows = IsrChangeZNode.decode(one[0]).partitions if one else []
            except MalformedZNode as error:
                _log.error("an ISR change notification cannot be read: %s", error)
                continue
            changed.update(TopicPartition(*row) for row in rows)
        return changed

    async def delete_isr_changes(self, names: Iterable[str], epoch_zk_version: int) -> None:
        """Deletes these notifications only."""
        await self._znodes.delete_many(
            [f"{IsrChangesZNode.path()}/{name}" for name in names], epoch_zk_version=epoch_zk_version
        )

    async def announce_log_dir_failure(self, broker_id: int) -> None:
        """Notifies the controller that a log directory of this broker has failed."""
        event = LogDirEventZNode(broker_id)
        await self._znodes.create_recursive(LogDirEventZNode.path(), event.encode(), sequence=True)

    async def log_dir_events(self, watch: Watch | None = None) -> list[str]:
        """The pending events, oldest first."""
        return sorted(await self._znodes.children_or_empty(LogDirEventsZNode.path(), watch))

    async def read_log_dir_events(self, names: Iterable[str]) -> set[int]:
        """The brokers in these events; unreadable ones are logged and ignored."""
        brokers: set[int] = set()
        found = await self._znodes.read_many(f"{LogDirEventsZNode.path()}/{name}" for name in names)
        for one in found:
            try:
                brokers.update([LogDirEventZNode.decode(one[0]).broker] if one else [])
            except MalformedZNode as error:
                _log.error("a log directory event cannot be read: %s", error)
        return brokers

    async def delete_log_dir_events(self, names: Iterable[str], epoch_zk_version: int) -> None:
        """Deletes these events only."""
        await self._znodes.delete_many(
            [f"{LogDirEventsZNode.path()}/{name}" for name in names], epoch_zk_version=epoch_zk_version
        )


class NotificationListener:
    """Reads the notifications under one parent in order and calls a handler with each one's data, once per process.

    All notifications that exist at start are replayed. If the handler raises, the error is logged and the notification
    counts as handled, except after a ZooKeeper error: then it is handled again. A name whose suffix is not a number
    stops every round, because the order of the notifications is unknown then.

    After a round, every broker deletes the listed notifications that are more than EXPIRY_MS older than the newest one,
    by ZooKeeper's clock. Apache Kafka goes by the broker's clock: one that is ahead deletes what a broker without a
    connection has yet to read. The numbers are consecutive; where some are missing, `on_gap` reads everything again.
    One task runs the rounds; watches and new sessions only wake it.
    """

    def __init__(
        self,
        znodes: ZkAccess,
        root: str,
        prefix: str,
        handler: Handler,
        clock: Clock,
        supervisor: Supervisor | None = None,
        *,
        on_gap: Reload | None = None,
    ) -> None:
        """root: path of the parent. prefix: of its children's names, before the number. handler: gets the data."""
        self._supervisor = supervisor or Supervisor(clock)
        self._is_closed = False
        self._znodes = znodes
        self._root = root
        self._prefix = prefix
        self._handler = handler
        self._on_gap = on_gap
        self._has_begun = False
        self._last_handled = -1
        self._created: dict[str, int] = {}  # by path: when ZooKeeper created it
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Replays the existing notifications, then listens."""
        self._znodes.session.add_expiry_hooks(after=self._on_new_session)
        await self._round()
        self._task = self._supervisor.loop(
            self._listen, _ACTIVITY, self._root, until=lambda: self._is_closed, on_failure=lambda _: self._woken.set()
        )

    async def stop(self) -> None:
        """Stops listening; cancels a running handler."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _on_change(self, _event: WatchEvent) -> None:
        self._woken.set()

    async def _on_new_session(self) -> None:
        self._woken.set()

    async def _listen(self) -> None:
        """Waits for a change and runs one round. A failed round is retried, because its watch may not be set."""
        await self._woken.wait()
        self._woken.clear()
        try:
            await self._round()
        except SessionClosed:
            self._is_closed = True
        except SessionLost as error:  # the hook of the new session starts the next round
            _log.error("the notifications of %s were not read: %s", self._root, error)
        except ZkError as error:
            _log.error("the notifications of %s were not read, retrying: %s", self._root, error)
            await asyncio.sleep(RETRY_S)
            self._woken.set()

    async def _round(self) -> None:
        """Handles new notifications. Sets the watch before it reads, so that none is missed."""
        names = await self._znodes.session.children(self._root, self._on_change)
        unread: list[list[tuple[int, str]]] = []  # each list sorted: to sort all of them takes long where they are many
        try:
            async for some in sliced(names, _SLICE):
                numbers = ((int(name.removeprefix(self._prefix)), name) for name in some)
                unread.append(sorted(one for one in numbers if one[0] > self._last_handled))
        except ValueError:
            _log.error("%s: a notification whose name is not %s<number>: %s", self._root, self._prefix, listed(names))
            return
        first = min((some[0][0] for some in unread if some), default=None)
        if first is not None and self._has_begun and first > self._last_handled + 1:
            await self._close_gap()
        for number, name in merge(*unread):
            await self._handle(f"{self._root}/{name}")
            self._last_handled = number
        self._has_begun = True
        if names:
            await self._purge(names)

    async def _close_gap(self) -> None:
        """Notifications were deleted before they were read here."""
        _log.warning("%s: notifications after number %d were deleted before they were read; everything is read again",
                     self._root, self._last_handled)  # fmt: skip
        if self._on_gap is not None:
            await self._guarded(self._on_gap(), f"{self._root}, read again")

    async def _handle(self, path: str) -> None:
        found = await self._znodes.read(path)
        if found is None:
            return
        self._created[path] = found[1].ctime
        if found[0] is None:
            return
        await self._guarded(self._handler(found[0]), f"{path} with {found[0]!r}")

    async def _guarded(self, work: Awaitable[object], item: str) -> None:
        """Reports an exception; raises those of ZooKeeper after which the work has to be done again."""
        unread: ZkError | None = None
        with self._supervisor.guard(_ACTIVITY, item):
            try:
                await work
            except (ConnectionLoss, SessionLost, SessionClosed) as error:
                unread = error
        if unread is not None:
            raise unread

    async def _purge(self, names: list[str]) -> None:
        """Deletes the old ones, by the times that were read with them: thousands are not asked for in each round."""
        created: dict[str, int] = {}
        newest_ms = 0
        async for some in sliced(names, _SLICE):
            paths = (f"{self._root}/{name}" for name in some)
            times = {path: self._created[path] for path in paths if path in self._created}
            newest_ms = max(newest_ms, *times.values(), 0)
            created.update(times)
        self._created = created
        old: list[str] = []
        async for rows in sliced(created.items(), _SLICE):
            old += [path for path, created_ms in rows if newest_ms - created_ms > EXPIRY_MS]
        await self._znodes.delete_many(old)


def config_change_listener(
    znodes: ZkAccess,
    apply: Callable[[str], Awaitable[None]],
    clock: Clock,
    supervisor: Supervisor | None = None,
    *,
    on_gap: Reload | None = None,
) -> NotificationListener:
    """A listener that calls `apply(entity_path)` for each config change, e.g. with "topics/t".

    Data that is not JSON is ignored; a malformed or unknown version is logged.
    """

    async def handle(data: bytes) -> None:
        await apply(ConfigChangeZNode.decode(data).entity_path)

    root = ConfigChangesZNode.path()
    return NotificationListener(znodes, root, "config_change_", handle, clock, supervisor, on_gap=on_gap)
