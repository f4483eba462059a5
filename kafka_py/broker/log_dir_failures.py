"""Reaction to a failed log directory: its partitions return errors, and the controller is notified (I/O).

Source: docs/reference/log.md, section 17; ReplicaManager, LogDirFailureChannel.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from kafka_py.base.ids import TopicPartition
from kafka_py.base.supervision import Supervisor
from kafka_py.broker.requests.node import Node
from kafka_py.log.disk.files import explained
from kafka_py.zk.notifications import NotificationStore
from kafka_py.zk.session import ZkError

_log = logging.getLogger(__name__)

_ACTIVITY = "loss of a log directory"


class LogDirFailures:
    """Called by the log directories on the event loop.

    node: the broker's parts, which exist before a directory can fail. all_failed: done when all directories have
        failed.
    """

    def __init__(
        self, node: Callable[[], Node], notifications: NotificationStore, supervisor: Supervisor,
        all_failed: asyncio.Future[str],
    ) -> None:  # fmt: skip
        self._node = node
        self._notifications = notifications
        self._supervisor = supervisor
        self._all_failed = all_failed

    def on_failure(self, directory: str, error: Exception, lost: list[TopicPartition]) -> None:
        """Makes the directory's partitions return KAFKA_STORAGE_ERROR, and notifies the controller."""
        node = self._node()
        gone = [one for one in lost if node.log_dirs.get(one) is None]  # else it held the future log
        self._supervisor.call(_ACTIVITY, partial(node.replication.lose, lost, gone), directory)
        self._supervisor.call(_ACTIVITY, partial(node.coordinators.lost, gone), directory)
        if not node.log_dirs.live_directories:
            if not self._all_failed.done():
                self._all_failed.set_result(
                    f"all log directories have failed, the last one is {directory}: {explained(error)}"
                )
            return
        self._supervisor.spawn(self._announce(node.broker_id), _ACTIVITY, directory)

    async def _announce(self, broker_id: int) -> None:
        try:
            await self._notifications.announce_log_dir_failure(broker_id)
        except ZkError as error:
            _log.error("The controller could not be notified of the failed log directory: %s", error)
