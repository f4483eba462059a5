"""Finds the coordinator of a group or transactional id, and sends it requests over a separate connection.

The connection is separate because the response to a JoinGroup takes as long as the rebalance, and fetches must not wait
behind it. Knows nothing of the contents of requests.
Source: AbstractCoordinator; docs/reference/groups.md, section 1.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.cluster import Cluster
from kafka_py.clients.errors import error_code
from kafka_py.clients.metadata import Node
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest

_log = logging.getLogger(__name__)

GROUP, TRANSACTION = 0, 1
"""The key types of FindCoordinator: the id of a group, a transactional id (KIP-98)."""
FIRST_ID = 0x7FFFFFFF
"""The connection to a coordinator has the id FIRST_ID - its node id, which no broker has."""

MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NETWORK_EXCEPTION)
"""Errors after which the coordinator has to be found again."""


class Coordinator:
    """The coordinator of one group or transactional id."""

    def __init__(self, cluster: Cluster, key: str, key_type: int = GROUP) -> None:
        """key: the id of the group, or the transactional id, as key_type says."""
        self.node: Node | None = None
        self._cluster = cluster
        self._key, self._key_type = key, key_type
        self._kind = "group" if key_type == GROUP else "transaction"
        self._of = f"group {key}" if key_type == GROUP else f"transactional id {key}"
        self._finding: asyncio.Task[Node] | None = None

    @property
    def is_known(self) -> bool:
        return self.node is not None

    @property
    def trouble(self) -> str:
        """As of the cluster, while the coordinator is not known."""
        return self._cluster.trouble if self.node is None else ""

    async def find(self) -> Node:
        """The coordinator; concurrent callers share one FindCoordinator. Raises KafkaError, retriable or not."""
        if self.node is not None:
            return self.node
        if self._finding is None:
            self._finding = asyncio.get_running_loop().create_task(self._ask())
            self._finding.add_done_callback(self._found)
        return await asyncio.shield(self._finding)

    def _found(self, task: asyncio.Task[Node]) -> None:
        self._finding = None
        if not task.cancelled():
            task.exception()  # marks it as retrieved: the callers that waited have it, and there may be none left

    async def _ask(self) -> Node:
        request = FindCoordinatorRequest(key=self._key, key_type=self._key_type)
        response = await self._cluster.send_any(request)
        code = error_code(response.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, f"{self._of}: {response.error_message or code.meaning}")
        self.node = Node(FIRST_ID - response.node_id, response.host, response.port)
        _log.info("Discovered %s coordinator %s of %s", self._kind, self.node, self._of)
        return self.node

    def forget(self, reason: object) -> None:
        """Drops the known coordinator, which has moved or is unreachable; the next request finds it again."""
        if self.node is not None:
            _log.info(
                "%s coordinator %s of %s is unavailable or invalid: %s",
                self._kind.capitalize(), self.node, self._of, reason,
            )
            self.node = None

    async def send(self, request: Any, *, timeout_ms: float | None = None) -> Any:
        """The coordinator's response, whose error codes `check` handles.

        Raises KafkaError when the coordinator cannot be found or does not respond.
        """
        node = await self.find()
        try:
            return await self._cluster.send_apart(node, request, timeout_ms=timeout_ms)
        except KafkaError as error:
            if error.code is ErrorCode.NETWORK_EXCEPTION and self.node is node:
                self.forget(error.message)
            raise

    async def version_for(self, request: type) -> int:
        """The newest version of a request that both the coordinator and this client know. Raises KafkaError."""
        return await self._cluster.version_apart(await self.find(), request)

    def check(self, number: int, what: str) -> None:
        """Raises the error of a response, if there is one; drops the coordinator if the error says that it moved."""
        code = error_code(number)
        if code is ErrorCode.NONE:
            return
        if code in MOVED:
            self.forget(code.name)
        raise KafkaError(code, f"{what}: {code.meaning}")

    def hang_up(self) -> None:
        """Closes the connection; requests without response fail."""
        if self.node is not None:
            self._cluster.hang_up(self.node.id)

    def close(self) -> None:
        """Cancels the search for the coordinator."""
        if self._finding is not None:
            self._finding.cancel()
