"""Sends the markers of transactions to the leaders of their partitions: per broker one connection and one
WriteTxnMarkers in flight; the connection to this broker itself may be one without a socket (I/O).

marker_queues.py decides what is queued for which broker and what a response means. Markers without a response, or with
a retriable error, are set aside for a while and are then sent to the current leader of the partition.
Source: TransactionMarkerChannelManager; InterBrokerSendThread; KIP-98.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.base.turns import Turn
from kafka_py.coordinator.metrics import MarkerChannelMetrics
from kafka_py.coordinator.transactions.marker_messages import errors_of, request_of
from kafka_py.coordinator.transactions.marker_queues import (
    ROUTED_AT_ONCE,
    FindLeader,
    MarkerQueues,
    PendingMarkers,
    Share,
    pieces,
)
from kafka_py.coordinator.transactions.markers import MarkerOutcome, MarkersDone, TransactionMarkers
from kafka_py.net.broker_link import BrokerLink, LinkConnection

MOST_MARKERS = 500
"""Markers in one request; the receiver appends each to a partition."""

SEND_AGAIN = Backoff(20.0, 500.0)
"""How long markers that were set aside wait; doubled after each round without a success."""

_ACTIVITY = "transaction markers"
_PAUSE_AFTER_FAILURE = Backoff(100.0, 1_000.0)

_log = logging.getLogger(__name__)


class MarkerChannels:
    """The MarkerSender of a broker.

    connect: opens a connection to a broker by its id, raises OSError where that fails. version: of WriteTxnMarkers.
    request_timeout_ms: until a response counts as lost.
    """

    def __init__(
        self,
        find_leader: FindLeader,
        connect: Callable[[int], Awaitable[LinkConnection]],
        *,
        version: int,
        request_timeout_ms: float,
        clock: Clock,
        registry: MetricRegistry,
        supervisor: Supervisor,
    ) -> None:
        self.supervisor = supervisor.child()
        self._queues = MarkerQueues(find_leader)
        self._connect = connect
        self._version = version
        self._request_timeout_ms = request_timeout_ms
        self._clock = clock
        self._channels: dict[int, _BrokerChannel] = {}
        self._aside = asyncio.Event()
        self._rounds = 0
        self._is_closed = False
        self._retries: asyncio.Task[None] | None = None
        self._metrics = MarkerChannelMetrics(registry, self._queues)

    def send(self, partition: int, markers: TransactionMarkers, on_done: MarkersDone) -> None:
        """See MarkerSender."""
        if self._is_closed:
            return
        pending = self._queues.add(partition, markers, on_done)
        share = Share(pending, list(pending.missing))
        if len(share.partitions) > ROUTED_AT_ONCE:
            work = self._in_turns(deque(pieces(share)), self._route)
            self.supervisor.spawn(work, _ACTIVITY, markers.transactional_id)
            return
        self._attempt(self._route, share)
        self._wake()

    def forget(self, partition: int) -> None:
        """See MarkerSender."""
        self._queues.forget(partition)

    def close(self) -> None:
        """Stops sending; no `on_done` is called from now on."""
        self._is_closed = True
        self.supervisor.cancel()
        for channel in self._channels.values():
            channel.link.disconnect()
        self._channels.clear()
        self._metrics.close()

    # ---- to the queues

    def _route(self, share: Share) -> None:
        self._end(share.pending, self._queues.route(share.pending, share.partitions))

    def _end(self, pending: PendingMarkers, outcome: MarkerOutcome | None) -> None:
        if outcome is not None:
            self.supervisor.call(_ACTIVITY, partial(pending.on_done, outcome), pending.markers.transactional_id)

    def _wake(self) -> None:
        """Starts the tasks that send what is queued and retry what was set aside."""
        if self._is_closed:  # by the end of a task that was cancelled
            return
        for broker in self._queues.brokers():
            channel = self._channels.get(broker)
            if channel is None:
                channel = self._channels[broker] = self._open(broker)
            channel.arrived.set()
        if self._queues.has_aside:
            self._aside.set()
            if self._retries is None:
                self._retries = self.supervisor.loop(
                    self._send_again, _ACTIVITY, "next attempts", backoff=_PAUSE_AFTER_FAILURE
                )

    def _open(self, broker: int) -> _BrokerChannel:
        link = BrokerLink(partial(self._connect, broker), self._request_timeout_ms)
        channel = _BrokerChannel(broker, link)
        self.supervisor.loop(
            partial(self._send_next, channel), _ACTIVITY, f"broker {broker}", backoff=_PAUSE_AFTER_FAILURE
        )
        return channel

    async def _send_again(self) -> None:
        """Waits until markers were set aside, pauses, and queues them for the current leaders."""
        await self._aside.wait()
        self._rounds += 1
        await asyncio.sleep(SEND_AGAIN.after(self._rounds) / 1000)
        self._aside.clear()
        aside = self._queues.take_aside()
        await self._in_turns(deque(piece for share in aside for piece in pieces(share)), self._route)

    async def _in_turns(self, shares: deque[Share], work: Callable[[Share], None]) -> None:
        """Runs the work for each share; if this ends early, the rest is set aside."""
        turn = Turn(self._clock)
        try:
            while shares:
                self._attempt(work, shares[0])
                shares.popleft()
                await turn.maybe_yield()
        finally:
            self._set_aside(shares)
            self._wake()

    def _attempt(self, work: Callable[[Share], None], share: Share) -> None:
        """Runs the work for a share; if it raises, the share is set aside, and no other share is delayed."""
        if not self.supervisor.call(_ACTIVITY, partial(work, share), share.pending.markers.transactional_id):
            self._queues.set_aside(share)

    def _set_aside(self, shares: Iterable[Share]) -> None:
        for share in shares:
            self._queues.set_aside(share)

    # ---- to the brokers

    async def _send_next(self, channel: _BrokerChannel) -> None:
        """Sends markers queued for one broker, as many as one request takes."""
        while not (shares := deque(self._queues.take(channel.broker, MOST_MARKERS))):
            channel.arrived.clear()
            await channel.arrived.wait()
        try:
            response = await channel.link.exchange(request_of(shares), self._version)
            errors = errors_of(response)
        except OSError as error:  # TimeoutError is one
            channel.note_loss(len(shares), error)
            self._set_aside(shares)
            self._wake()
            return
        except BaseException:
            self._set_aside(shares)
            self._wake()
            raise
        channel.last_loss = ""
        await self._in_turns(shares, lambda share: self._take_answer(channel, share, errors))

    def _take_answer(
        self, channel: _BrokerChannel, share: Share, errors: dict[int, dict[TopicPartition, ErrorCode]]
    ) -> None:
        pending = share.pending
        missing = len(pending.missing)
        verdict = self._queues.answered(share, errors.get(pending.markers.producer_id, {}))
        if len(pending.missing) < missing:
            self._rounds = 0
        self._end(pending, verdict.outcome)
        for topic_partition, error in verdict.unforeseen:
            channel.note_error(pending, topic_partition, error)


class _BrokerChannel:
    """The connection to one broker. arrived: set when markers are queued. last_loss: the last connection error."""

    __slots__ = ("_known_errors", "arrived", "broker", "last_loss", "link")

    def __init__(self, broker: int, link: BrokerLink) -> None:
        self.broker = broker
        self.link = link
        self.arrived = asyncio.Event()
        self.last_loss = ""
        self._known_errors: set[ErrorCode] = set()

    def note_loss(self, count: int, error: OSError) -> None:
        """Logs that a request got no response; a reason that repeats is logged once."""
        reason = f"{type(error).__name__}: {error}"
        if reason != self.last_loss:
            self.last_loss = reason
            _log.warning(
                "Broker %d did not respond to the markers of %d transactions (%s), sending them again until it does",
                self.broker, count, reason,
            )  # fmt: skip

    def note_error(self, pending: PendingMarkers, topic_partition: TopicPartition, error: ErrorCode) -> None:
        """Logs an error that no leader should respond with; each error once."""
        if error not in self._known_errors:
            self._known_errors.add(error)
            _log.error(
                "Broker %d refuses the marker of transactional id %s for %s with %s, sending it again until it is "
                "taken", self.broker, pending.markers.transactional_id, topic_partition, error.name,
            )  # fmt: skip
