"""Carries out plans during one controller epoch: writes to ZooKeeper, sends requests, logs, puts events (I/O).

Has the controller context, the watches, the channels to the brokers and a timer. Decides nothing: the outcome of a step
is sent to the plan, an error is raised in it. Nothing is kept after the epoch: the next one reads everything again.
Source: docs/reference/controller.md, sections 1 and 2.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka_py.base.clock import Clock
from kafka_py.base.ids import TopicId
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import Turn, finish
from kafka_py.controller.channels import Channels, Connect
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.decisions.batch import ControllerRequest, RequestBatch, RequestSource
from kafka_py.controller.decisions.machine import event_of_reply
from kafka_py.controller.decisions.notes import LogLine
from kafka_py.controller.decisions.plan import Plan, Step, Worked
from kafka_py.controller.decisions.steps import (
    CloseChannel,
    CountUnclean,
    OpenChannel,
    PartitionsMoved,
    Put,
    PutLater,
    ReplicasMoved,
    ReplyToCaller,
    Send,
)
from kafka_py.controller.events import Event
from kafka_py.controller.metrics import ControllerStats
from kafka_py.controller.model.controller_context import ControllerContext
from kafka_py.controller.state_changes import PARTITION, REPLICA, StateChanges
from kafka_py.controller.watches import Watches
from kafka_py.controller.znode_work import FORGET, WORK, ZnodeWork
from kafka_py.zk.election import ControllerEpoch
from kafka_py.zk.store import ZkStore

T = TypeVar("T")

OnReply = Callable[[object], object]


@dataclass(frozen=True, slots=True)
class ControllerEnvironment:
    """The dependencies that a broker hands to its controller.

    config: asked for each time, as settings may change. listener: name of the inter-broker listener, on which brokers
    find each other.
    """

    broker_id: int
    store: ZkStore
    config: Callable[[], ControllerOptions]
    listener: str
    request_timeout_ms: float
    connect: Connect
    clock: Clock
    new_topic_id: Callable[[], TopicId]
    registry: MetricRegistry
    stats: ControllerStats
    put: Callable[[Event], object]
    supervisor: Supervisor


class Executor:
    """Created when this broker is elected controller; the plan of failover.py fills the context."""

    def __init__(self, controller_epoch: ControllerEpoch, environment: ControllerEnvironment) -> None:
        self.epoch = controller_epoch.epoch
        self.epoch_zk_version = controller_epoch.epoch_zk_version
        self.cluster = ControllerContext(controller_epoch.epoch)
        self.watches = Watches(environment.put)
        self._environment = environment
        self._znodes = ZnodeWork(
            environment.store, self.watches, controller_epoch.epoch_zk_version, environment.new_topic_id,
            lambda: bool(environment.config().unclean_leader_election_enable),
        )  # fmt: skip
        self._request_source = RequestSource(
            environment.broker_id, controller_epoch.epoch, environment.config().inter_broker_version().requests,
            environment.listener,
        )  # fmt: skip
        self._state_changes = StateChanges(environment.broker_id, controller_epoch.epoch)
        self.channels = Channels(
            environment.connect,
            self._on_reply,
            request_timeout_ms=environment.request_timeout_ms,
            clock=environment.clock,
            registry=environment.registry,
            supervisor=environment.supervisor,
        )
        self._timer: asyncio.TimerHandle | None = None
        self._turn_used = 0.0

    def end(self) -> None:
        """Stops channels, watches and timer; the context must not be used after this."""
        self.watches.end()
        self.channels.close()
        if self._timer is not None:
            self._timer.cancel()

    async def run(self, plan: Plan[T], reply: OnReply = lambda _: None) -> T:
        """Carries out the steps of the plan; returns, or raises, what the plan does.

        reply: called with the outcome for the caller of an Asked event.
        """
        outcome: Any = None
        failure: BaseException | None = None
        try:
            while True:
                try:
                    step = plan.send(outcome) if failure is None else plan.throw(failure)
                except StopIteration as end:
                    return end.value  # type: ignore[no-any-return]
                outcome = failure = None
                try:
                    outcome = await self._perform(step, reply)
                except BaseException as error:  # including a cancellation: a plan may have finally blocks
                    failure = error
        finally:
            failure = None  # its traceback refers to this frame

    async def _perform(self, step: Step[Any], reply: OnReply) -> Any:
        work = WORK.get(type(step))
        if work is not None:
            return await work(self._znodes, step)
        match step:
            case Worked(elements, of):
                await self._maybe_yield(elements / of)
            case Send(batch):
                await self._send(batch)
            case ReplyToCaller(answer):
                reply(answer)
            case _:
                self._perform_at_once(step)
        return None

    def _perform_at_once(self, step: Step[Any]) -> None:
        environment = self._environment
        match step:
            case LogLine(source, level, text, arguments, error):
                logging.getLogger(source).log(level, text, *arguments, exc_info=error)
            case PartitionsMoved(before, target, detail):
                self._state_changes.moved(PARTITION, before, target, self.cluster.partition_state, detail)
            case ReplicasMoved(before, target):
                self._state_changes.moved(REPLICA, before, target, self.cluster.replica_state, {})
            case CountUnclean(elections):
                environment.stats.unclean_elections += elections
            case Put(event):
                environment.put(event)
            case PutLater(seconds, event):
                self._put_later(seconds, event)
            case OpenChannel(broker, address):
                self.channels.add(broker, address)
            case CloseChannel(broker):
                self.channels.remove(broker)
            case _:
                FORGET[type(step)](self.watches, step)

    async def _maybe_yield(self, share: float) -> None:
        """Yields to other work on the loop when a turn is used up. share: the part of a turn that was used."""
        self._turn_used += share
        if self._turn_used >= 1:
            self._turn_used = 0.0
            await asyncio.sleep(0)

    def _put_later(self, seconds: float, event: Event) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._environment.put, event)

    # ---- requests to brokers

    async def _send(self, batch: RequestBatch) -> None:
        """Queues the requests of a batch, in turns with other work. Raises MissingListener; then nothing is sent."""
        clock = self._environment.clock
        turn = Turn(clock)
        for request in await finish(batch.requests(self._request_source), clock.monotonic_ms):
            await turn.maybe_yield()
            self.channels.send(request)
            self._state_changes.sent(request)

    def _on_reply(self, request: ControllerRequest, response: object) -> None:
        event = event_of_reply(self.cluster, request, response)
        if event is not None:
            self._environment.put(event)
