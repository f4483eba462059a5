"""The controller of a broker: takes part in controller elections, processes events, and answers requests (I/O).

Every broker has one; at most one in the cluster is active. decisions/ decide what follows from each event, and the
Executor of the controller epoch carries it out. Source: docs/reference/controller.md, section 1.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Backoff, Supervisor
from kafka_py.base.turns import TURN_MS
from kafka_py.controller import events
from kafka_py.controller.channels import Connect
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.decisions.batch import MissingListener
from kafka_py.controller.decisions.failover import fail_over
from kafka_py.controller.decisions.isr_changes import IsrAnswers
from kafka_py.controller.decisions.machine import handle
from kafka_py.controller.decisions.preferred_leaders import ElectionResults
from kafka_py.controller.decisions.reassignment import Refusals
from kafka_py.controller.decisions.settings import Settings
from kafka_py.controller.event_queue import EventQueue, QueuedEvent
from kafka_py.controller.events import Asked, ControllerState, Event, IsrProposal
from kafka_py.controller.executor import ControllerEnvironment, Executor
from kafka_py.controller.metrics import ControllerMetrics, ControllerStats, EventQueueMetrics
from kafka_py.controller.model.controller_context import ControllerContext, PartitionAssignment
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.session import EventType, SessionClosed, SessionLost, WatchEvent
from kafka_py.zk.store import ZkStore

NO_CONTROLLER = -1
RE_ELECTION_DELAY_S = 1.0
"""How long a broker does not run for controller after a failed fail-over, so that another broker can be elected."""
_PAUSE_AFTER_FAILURE = Backoff(10.0, 1_000.0)
SESSION_GONE = (SessionLost, SessionClosed)
CLOSE_WITHIN_S = 5.0
QUIET_S = 300
"""After this time without an event, the histogram of queue times is reset."""

_log = logging.getLogger(__name__)


class Controller:
    """The controller of one broker, active or not.

    store: uses the ZooKeeper session of the broker's registration; its expiry hooks are set by `start`.
    config: the broker's settings. connect: opens a connection to (host, port) with the broker's id as client id and
        without ApiVersions; also used for requests to this broker.
    register_broker: re-creates the broker's registration in a new ZooKeeper session; returns when that is done.
    on_role: called with True when this broker has become the controller, with False when it no longer is.
    listener: name of the inter-broker listener. control_listener: the listener for controller requests, if that is
        another one. request_timeout_ms: `request.timeout.ms`.

    `start` runs for election and returns immediately; `shutdown` resigns, if this broker is the controller, and stops
    the queue (/controller is deleted with the session). All work is done in one task, one event at a time. Methods with
    a result put an event and wait for its outcome; when this broker is not the active controller they raise
    KafkaError(NOT_CONTROLLER), `controlled_shutdown` KafkaError(STALE_CONTROLLER_EPOCH).
    """

    def __init__(
        self,
        broker_id: int,
        *,
        store: ZkStore,
        config: ControllerOptions,
        connect: Connect,
        register_broker: Callable[[], Awaitable[object]],
        clock: Clock,
        chance: Chance,
        registry: MetricRegistry,
        listener: str,
        control_listener: str | None = None,
        request_timeout_ms: float = 30_000,
        on_role: Callable[[bool], object] = lambda _: None,
        supervisor: Supervisor | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.active_controller_id = NO_CONTROLLER
        self._store = store
        self._clock = clock
        self._register_broker = register_broker
        self._on_role = on_role
        self._supervisor = supervisor or Supervisor(clock)
        self._queue = EventQueue(clock)
        self._turn_ends_ms = 0.0
        self._gauges = ControllerMetrics(registry)
        self._stats = ControllerStats(registry)
        self._queue_metrics = EventQueueMetrics(registry, self._queue)
        self._executor: Executor | None = None
        self._task: asyncio.Task[None] | None = None
        self._under_way: QueuedEvent | None = None
        self._is_closing = False
        self._has_ended = False
        self._re_election_timer: asyncio.TimerHandle | None = None
        self._config = config
        self._control_listener = control_listener or listener
        self._environment = ControllerEnvironment(
            broker_id=broker_id, store=store, config=lambda: self._config, listener=listener,
            request_timeout_ms=request_timeout_ms, connect=connect, clock=clock, new_topic_id=chance.new_topic_id,
            registry=registry, stats=self._stats, put=self.put, supervisor=self._supervisor,
        )  # fmt: skip

    # ---- calls of the broker

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller, to its own knowledge."""
        return self._executor is not None and self.active_controller_id == self.broker_id

    @property
    def epoch(self) -> int:
        """The controller epoch of this broker; 0 when it is not the controller."""
        return 0 if self._executor is None else self._executor.epoch

    @property
    def cluster(self) -> ControllerContext | None:
        """The controller context, read-only; None when this broker is not the controller."""
        return None if self._executor is None else self._executor.cluster

    @property
    def config(self) -> ControllerOptions:
        return self._config

    async def start(self) -> None:
        """Starts to process events; the first one runs for election."""
        self._store.session.add_expiry_hooks(before=self._before_new_session, after=self._after_new_session)
        self._task = self._supervisor.loop(
            self._take_event, "controller", until=lambda: self._has_ended, on_failure=self._after_failure,
            backoff=_PAUSE_AFTER_FAILURE,
        )  # fmt: skip
        self.put(events.Startup())

    async def shutdown(self) -> None:
        """Drops queued events, finishes the one that is being processed, and resigns.

        An event that does not end, because ZooKeeper does not respond, is cancelled after CLOSE_WITHIN_S.
        """
        if self._task is None or self._is_closing:
            return
        self._queue.clear_and_put(events.ShutdownEventThread())
        self._is_closing = True
        done, _ = await asyncio.wait({self._task}, timeout=CLOSE_WITHIN_S)
        if not done:
            self._task.cancel()
            await asyncio.wait({self._task})
            await self._close()

    def put(self, event: Event) -> QueuedEvent | None:
        """Enqueues an event; None once the controller has been shut down, when it is dropped."""
        return None if self._is_closing else self._queue.put(event)

    def reconfigure(self, config: ControllerOptions) -> None:
        """Takes new settings; holds unclean elections if these were enabled."""
        before, self._config = self._config, config
        if config.unclean_leader_election_enable and not before.unclean_leader_election_enable:
            self.put(events.UncleanLeaderElectionEnable())

    def topic_unclean_election_enabled(self, topic: str) -> None:
        """Holds unclean elections for a topic for which they were enabled."""
        if self.is_active:
            self.put(events.TopicUncleanLeaderElectionEnable(topic))

    def is_queued_for_deletion(self, topic: str) -> bool:
        """Whether this broker is the active controller and the topic is queued for deletion."""
        return self._executor is not None and topic in self._executor.cluster.queued

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> set[TopicPartition]:
        """Moves leaders away from a broker; returns the replicated partitions that it still leads.

        Raises KafkaError with the codes of ControlledShutdown.
        """
        remaining: set[TopicPartition] = await self._ask(events.ControlledShutdown(broker_id, broker_epoch))
        return remaining

    async def elect_leaders(self, partitions: Sequence[TopicPartition] | None, type_: ElectionType) -> ElectionResults:
        """Elects leaders; partitions None means all. Per partition the leader or a KafkaError."""
        results: ElectionResults = await self._ask(events.ReplicaLeaderElection(partitions, type_))
        return results

    async def alter_reassignments(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> Refusals:
        """Starts reassignments, or cancels them where the target is None. Per partition None or a KafkaError."""
        refusals: Refusals = await self._ask(events.ApiPartitionReassignment(targets))
        return refusals

    async def list_reassignments(
        self, partitions: Sequence[TopicPartition] | None
    ) -> dict[TopicPartition, PartitionAssignment]:
        """The assignments of those partitions (None: all) that are being reassigned."""
        event = events.ListPartitionReassignments(partitions)
        found: dict[TopicPartition, PartitionAssignment] = await self._ask(event)
        return found

    async def alter_isr(
        self, broker_id: int, broker_epoch: int, proposals: Mapping[TopicPartition, IsrProposal]
    ) -> IsrAnswers:
        """Changes in-sync sets for a leader. Raises KafkaError(STALE_BROKER_EPOCH) for another broker epoch."""
        answers: IsrAnswers = await self._ask(events.AlterIsrReceived(broker_id, broker_epoch, proposals))
        return answers

    async def _ask(self, event: Asked) -> Any:
        queued = self.put(event)
        if queued is None or queued.answer is None:
            raise KafkaError(event.if_not_controller, "this broker is not the active controller")
        return await queued.answer

    # ---- the queue

    async def _take_event(self) -> None:
        """Takes the next event and processes it; no error ends the queue. Hundreds that are short come at once."""
        if self._queue and self._clock.monotonic_ms() >= self._turn_ends_ms:
            await asyncio.sleep(0)  # and not in a line with what clients have asked for
            self._turn_ends_ms = self._clock.monotonic_ms() + TURN_MS
        queued = await self._next()
        event = queued.event
        self._under_way = queued
        self._has_ended = isinstance(event, events.ShutdownEventThread)
        self._queue_metrics.wait.update(self._clock.monotonic_ms() - queued.enqueued_ms)
        queued.start()
        begun_ms = self._clock.monotonic_ms()
        self._gauges.state = event.state.value
        await self._process(queued)
        self._under_way = None
        timing = self._stats.timing_of(event.state)
        if timing is not None:
            timing.update(self._clock.monotonic_ms() - begun_ms)
        self._gauges.state = ControllerState.IDLE.value
        self._gauges.show(self.cluster)

    def _after_failure(self, error: Exception) -> None:
        """Completes the future of the event whose processing failed."""
        queued, self._under_way = self._under_way, None
        if queued is not None:
            queued.refuse(error)

    async def _next(self) -> QueuedEvent:
        try:
            async with asyncio.timeout(QUIET_S):
                return await self._queue.take()
        except TimeoutError:
            self._queue_metrics.forget_waits()
            return await self._queue.take()

    async def _process(self, queued: QueuedEvent) -> None:
        event = queued.event
        try:
            await self._dispatch(queued)
        except ControllerMoved as error:
            _log.info("Broker %d is no longer the controller: %s", self.broker_id, error)
            queued.preempt()
            await self._guarded(self._maybe_resign)
        except MissingListener as error:
            _log.error("Requests to brokers cannot be sent, resigning as controller: %s", error)
            queued.preempt()
            await self._guarded(self._force_reelection)
        except SESSION_GONE as error:
            _log.warning("%s was not finished: %s", type(event).__name__, error)
            queued.preempt()
        except Exception as error:
            queued.refuse(error)
            if not (isinstance(event, Asked) and isinstance(error, KafkaError)):
                self._supervisor.report("controller", error, type(event).__name__)

    async def _guarded(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except (*SESSION_GONE, ControllerMoved) as error:
            _log.warning("Resigning as controller was not finished: %s", error)
        except Exception as error:
            self._supervisor.report("controller", error, "resignation")

    async def _dispatch(self, queued: QueuedEvent) -> None:
        event, executor = queued.event, self._executor
        own = self._OWN_EVENTS.get(type(event))
        if own is not None:
            await own(self)
        elif executor is None:
            queued.preempt()
        else:
            await executor.run(handle(executor.cluster, event, self._settings), queued.reply)

    @property
    def _settings(self) -> Settings:
        return Settings(self._config, self._control_listener)

    # ---- elections

    async def _startup(self) -> None:
        await self._elect()

    async def _maybe_resign(self) -> None:
        """Reads the active controller; resigns if this broker no longer is."""
        was_active = self.is_active
        await self._read_active_controller()
        if was_active and not self.is_active:
            self._resign()

    async def _reelect(self) -> None:
        await self._maybe_resign()
        if self._re_election_timer is None:
            await self._elect()

    async def _register_and_reelect(self) -> None:
        await self._register_broker()
        await self._reelect()

    async def _expire(self) -> None:
        self.active_controller_id = NO_CONTROLLER
        self._resign()

    async def _close(self) -> None:
        if self._re_election_timer is not None:
            self._re_election_timer.cancel()
        self._resign()
        self.active_controller_id = NO_CONTROLLER

    async def _read_active_controller(self) -> None:
        holder = await self._store.election.controller_id(self._on_controller_znode)
        self.active_controller_id = NO_CONTROLLER if holder is None else holder

    async def _elect(self) -> None:
        """Creates /controller if there is none, and then fails over."""
        await self._read_active_controller()
        if self.active_controller_id != NO_CONTROLLER:
            _log.info("Broker %d is the controller", self.active_controller_id)
            return
        try:
            elected = await self._store.election.elect(self.broker_id, self._clock.wall_ms())
            _log.info(
                "Broker %d was elected controller, with epoch %d (znode version %d)",
                self.broker_id, elected.epoch, elected.epoch_zk_version,
            )  # fmt: skip
            self._resign()
            executor = self._executor = Executor(elected, self._environment)
            self.active_controller_id = self.broker_id
            await executor.run(fail_over(executor.cluster, self._settings))
            self._on_role(True)
        except ControllerMoved as error:
            _log.info("Another broker was elected: %s", error)
            await self._maybe_resign()
        except SESSION_GONE:
            raise  # a new session runs for election itself
        except Exception as error:
            self._supervisor.report("controller", error, "election")
            loop = asyncio.get_running_loop()
            self._re_election_timer = loop.call_later(RE_ELECTION_DELAY_S, self._end_re_election_delay)
            await self._force_reelection()

    def _end_re_election_delay(self) -> None:
        self._re_election_timer = None
        self.put(events.Reelect())

    async def _force_reelection(self) -> None:
        """Resigns and deletes /controller, so that an election is held. Raises ControllerMoved if one was held."""
        await self._read_active_controller()
        if self._executor is None or not self.is_active:
            return
        fence = self._executor.epoch_zk_version
        self.active_controller_id = NO_CONTROLLER
        self._resign()
        await self._store.election.delete_controller(fence)

    def _resign(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.end()
            self._on_role(False)
            _log.info("Broker %d has resigned as controller, epoch %d", self.broker_id, executor.epoch)
        self._gauges.show(None)

    # ---- ZooKeeper

    def _on_controller_znode(self, seen: WatchEvent) -> None:
        self.put(events.Reelect() if seen.type is EventType.DELETED else events.ControllerChange())

    async def _before_new_session(self) -> None:
        """Resigns after the session has expired, and drops queued events, which belong to the old session."""
        if not self._is_closing:
            await self._queue.clear_and_put(events.Expire()).started

    async def _after_new_session(self) -> None:
        self.put(events.RegisterBrokerAndReelect())

    _OWN_EVENTS: ClassVar[dict[type[Event], Callable[[Controller], Awaitable[None]]]] = {
        events.Startup: _startup,
        events.ControllerChange: _maybe_resign,
        events.Reelect: _reelect,
        events.RegisterBrokerAndReelect: _register_and_reelect,
        events.Expire: _expire,
        events.ShutdownEventThread: _close,
    }
