"""Sequential notifications: ISR changes and log directory events for the controller, and every broker's config changes.

Source: docs/reference/zookeeper.md, sections 10 and 11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.base.texts import listed
from kafka_py.zk.access import ZkAccess, pipelined
from kafka_py.zk.config_znodes import ConfigChangesZNode, ConfigChangeZNode
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import ConnectionLoss, SessionClosed, SessionExpired, Watch, WatchEvent, ZkError
from kafka_py.zk.znodes import IsrChangesZNode, IsrChangeZNode, LogDirEventsZNode, LogDirEventZNode, TopicPartitionRow

_log = logging.getLogger(__name__)

EXPIRY_MS = 15 * 60 * 1000
RETRY_S = 1.0
_ACTIVITY = "notifications"

Handler = Callable[[bytes], Awaitable[None]]


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
    counts as handled, except after a ZooKeeper error: then it is handled again. After a round, every broker deletes the
    listed notifications older than EXPIRY_MS. A name whose suffix is not a number stops every round, because the order
    of the notifications is unknown then.
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
    ) -> None:
        """root: path of the parent. prefix: of its children's names, before the number. handler: gets the data."""
        self._supervisor = supervisor or Supervisor(clock)
        self._is_closed = False
        self._znodes = znodes
        self._root = root
        self._prefix = prefix
        self._handler = handler
        self._clock = clock
        self._last_handled = -1
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
        except SessionExpired as error:  # the hook of the new session starts the next round
            _log.error("the notifications of %s were not read: %s", self._root, error)
        except ZkError as error:
            _log.error("the notifications of %s were not read, retrying: %s", self._root, error)
            await asyncio.sleep(RETRY_S)
            self._woken.set()

    async def _round(self) -> None:
        """Handles new notifications. Sets the watch before it reads, so that none is missed."""
        names = sorted(await self._znodes.session.children(self._root, self._on_change))
        try:
            numbers = {name: int(name.removeprefix(self._prefix)) for name in names}
        except ValueError:
            _log.error("%s: a notification whose name is not %s<number>: %s", self._root, self._prefix, listed(names))
            return
        for name, number in numbers.items():
            if number > self._last_handled:
                await self._handle(f"{self._root}/{name}")
                self._last_handled = number
        if names:
            await self._purge(names)

    async def _handle(self, path: str) -> None:
        found = await self._znodes.read(path)
        if found is None or found[0] is None:
            return
        unread: ZkError | None = None
        with self._supervisor.guard(_ACTIVITY, f"{path} with {found[0]!r}"):
            try:
                await self._handler(found[0])
            except (ConnectionLoss, SessionExpired, SessionClosed) as error:
                unread = error
        if unread is not None:
            raise unread

    async def _purge(self, names: list[str]) -> None:
        paths = [f"{self._root}/{name}" for name in names]
        stats = await pipelined(self._znodes.session.exists(path) for path in paths)
        now_ms = self._clock.wall_ms()
        old = [
            path
            for path, stat in zip(paths, stats, strict=True)
            if stat is not None and not isinstance(stat, BaseException) and now_ms - stat.ctime > EXPIRY_MS
        ]
        await self._znodes.delete_many(old)


def config_change_listener(
    znodes: ZkAccess, apply: Callable[[str], Awaitable[None]], clock: Clock, supervisor: Supervisor | None = None
) -> NotificationListener:
    """A listener that calls `apply(entity_path)` for each config change, e.g. with "topics/t".

    Data that is not JSON is ignored; a malformed or unknown version is logged.
    """

    async def handle(data: bytes) -> None:
        await apply(ConfigChangeZNode.decode(data).entity_path)

    return NotificationListener(znodes, ConfigChangesZNode.path(), "config_change_", handle, clock, supervisor)
