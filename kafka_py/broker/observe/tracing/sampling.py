"""Which requests are traced: a share of all, drawn by chance. What is kept of them goes to a queue of fixed length."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from kafka_py.base.chance import Random
from kafka_py.broker.observe.request_log import Finished
from kafka_py.broker.observe.tracing.traced import MOST_CHARACTERS, TracedRequest, cut

MOST_QUEUED = 2048
"""So many requests wait for the collector; further ones are dropped until there is room again."""
ENOUGH = 512
"""With so many the exporting thread does not wait any longer."""


class Sampler:
    """Fills `queue`, on the event loop. ratio: 0 to 1. wake: called when there is enough for the exporting thread.

    dropped: traced requests that found the queue full.
    """

    def __init__(self, ratio: float, random: Random, wake: Callable[[], None], *, names_principal: bool) -> None:
        self.queue: deque[TracedRequest] = deque()
        self.dropped = 0
        self._ratio = ratio
        self._draw = random.random
        self._wake = wake
        self._names_principal = names_principal

    def begin(self, request: Any) -> TracedRequest | None:
        """What is kept of a request of the sample; None for others."""
        return TracedRequest(request) if self._draw() < self._ratio else None

    def finish(self, traced: TracedRequest, context: Any, moments: Finished) -> None:
        """Queues the request. It keeps no connection, which may be closed before the span is sent."""
        waiting = len(self.queue)
        if waiting >= MOST_QUEUED:
            self.dropped += 1
            return
        connection, software = context.connection, context.connection.client_software
        traced.moments = moments
        traced.name, traced.kind = context.api.name, context.metrics.name
        traced.api_key, traced.version = int(context.api.key), context.api_version
        traced.correlation_id, traced.client_id = context.correlation_id, cut(context.client_id)
        traced.connection_id, traced.listener = getattr(connection, "id", ""), connection.listener_name
        traced.security_protocol = connection.security_protocol.name
        traced.peer = connection.peer_host, connection.peer_port
        traced.client_software = software.name[:MOST_CHARACTERS], software.version[:MOST_CHARACTERS]
        if self._names_principal:
            traced.principal = cut(str(connection.principal))
        self.queue.append(traced)
        if waiting + 1 == ENOUGH:
            self._wake()
