"""One broker's term of office as controller: what it holds from the election that it won until it resigns (I/O).

Handlers of events get the term and find here the cluster, the state moves, deletion, reassignment and the channels to
the brokers. Nothing survives a term: a new one reads everything again.
Source: docs/reference/controller.md, sections 1 and 2.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicId, TopicPartition
from kafka_py.base.meters import MetricRegistry
from kafka_py.base.supervision import Supervisor
from kafka_py.base.turns import Turn, finish
from kafka_py.controller.batch import ControllerRequest, RequestBatch, Sender
from kafka_py.controller.channels import Address, Channels, Connect
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.deletion import TopicDeletion
from kafka_py.controller.events import (
    Event,
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from kafka_py.controller.leaderships import Leaderships
from kafka_py.controller.metrics import ControllerStats
from kafka_py.controller.model.controller_context import Assignment, Cluster
from kafka_py.controller.reassignment import Reassignments
from kafka_py.controller.state_changes import StateChanges
from kafka_py.controller.transitions import Transitions
from kafka_py.controller.watches import Watches
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrResponse
from kafka_py.wire.messages.stop_replica import StopReplicaResponse
from kafka_py.wire.messages.update_metadata import UpdateMetadataResponse
from kafka_py.zk.access import pipelined, raise_first
from kafka_py.zk.brokers import RegisteredBroker
from kafka_py.zk.election import ControllerEpoch
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment

log = logging.getLogger(__name__)

UNCLEAN = "unclean.leader.election.enable"
_ANOTHER_LIFE = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.STALE_CONTROLLER_EPOCH)


@dataclass(slots=True)
class Surroundings:
    """What a controller is given by its broker.

    listener: name of the inter-broker listener. control_listener: of the one on which brokers take the controller's
    requests, usually the same. config: replaced as a whole when settings change.
    """

    broker_id: int
    store: ZkStore
    config: ControllerOptions
    listener: str
    control_listener: str
    request_timeout_ms: float
    connect: Connect
    clock: Clock
    new_topic_id: Callable[[], TopicId]
    registry: MetricRegistry
    stats: ControllerStats
    put: Callable[[Event], object]
    supervisor: Supervisor


class Term:
    """An active controller. Made when the election is won; failover.py fills it."""

    def __init__(self, office: ControllerEpoch, given: Surroundings) -> None:
        self.epoch = office.epoch
        self.epoch_zk_version = office.epoch_zk_version
        self.given = given
        self.store = given.store
        self.put = given.put
        self.version = given.config.inter_broker_version()
        self.cluster = Cluster()
        self.watches = Watches(given.put)
        self.leaderships = Leaderships(given.store, self.cluster, office.epoch, office.epoch_zk_version)
        self.state_changes = StateChanges(given.broker_id, office.epoch)
        self.transitions = Transitions(
            self.cluster, self.leaderships, self.send, self.permits_unclean, given.stats, self.state_changes
        )
        self.deletion = TopicDeletion(self)
        self.reassignments = Reassignments(self)
        self.channels = Channels(
            given.connect,
            self._on_reply,
            request_timeout_ms=given.request_timeout_ms,
            clock=given.clock,
            registry=given.registry,
            supervisor=given.supervisor,
        )
        self._timer: asyncio.TimerHandle | None = None

    @property
    def config(self) -> ControllerOptions:
        return self.given.config

    def end(self) -> None:
        """Stops everything the term has started; what it knows is not to be used any more."""
        self.watches.end()
        self.channels.close()
        if self._timer is not None:
            self._timer.cancel()

    def put_after(self, seconds: float, event: Event) -> None:
        """Enqueues an event later, in place of one put off before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.put, event)

    # Requests to brokers

    async def send(self, batch: RequestBatch) -> None:
        """Hands a batch to the channels, in turns with other work. Raises MissingListener; then nothing is sent."""
        given = self.given
        steps = batch.requests(Sender(given.broker_id, self.epoch, self.version.requests, given.listener))
        turn = Turn(given.clock)
        for request in await finish(steps, given.clock.monotonic_ms):
            await turn.maybe_yield()
            self.channels.send(request)
            self.state_changes.sent(request)

    async def update_metadata(self, brokers: Iterable[int], partitions: Iterable[TopicPartition] = ()) -> None:
        """Tells brokers who is alive and who leads those partitions."""
        batch = RequestBatch(self.cluster)
        batch.add_update_metadata(brokers, partitions)
        await self.send(batch)

    def address_of(self, broker: RegisteredBroker) -> Address:
        """Where the broker takes our requests. Raises KafkaError(LISTENER_NOT_FOUND)."""
        name = self.given.control_listener
        endpoint = broker.endpoint(name)
        if endpoint is None:
            raise KafkaError(ErrorCode.LISTENER_NOT_FOUND, f"broker {broker.id} does not advertise listener {name}")
        return Address(endpoint.host, endpoint.port)

    def _on_reply(self, request: ControllerRequest, response: object) -> None:
        match response:
            case LeaderAndIsrResponse():
                self.put(LeaderAndIsrResponseReceived(response, request.broker))
            case UpdateMetadataResponse():
                self.put(UpdateMetadataResponseReceived(response.error_code, request.broker))
            case StopReplicaResponse():
                self._on_stop_replica_reply(request, response)

    def _on_stop_replica_reply(self, request: ControllerRequest, response: StopReplicaResponse) -> None:
        """Only the partitions to delete matter, and only while their topic is in deletion.

        A refusal that names no partitions is one of all, unless it came from another life of the broker or was meant
        for one: then what happens next is decided when the broker registers, or by the next controller.
        """
        rows = response.partition_errors
        codes = {TopicPartition(row.topic_name, row.partition_index): row.error_code for row in rows}
        if not codes and response.error_code and response.error_code not in _ANOTHER_LIFE:
            codes = dict.fromkeys(request.deletes, response.error_code)
        errors = {
            partition: code
            for partition, code in codes.items()
            if partition in request.deletes and partition.topic in self.cluster.started
        }
        if errors:
            self.put(TopicDeletionStopReplicaResponseReceived(request.broker, response.error_code, errors))

    # Reads and writes shared by the handlers

    async def permits_unclean(self, topics: Collection[str]) -> dict[str, bool | Exception]:
        """Per topic whether a replica out of sync may lead, by its settings as ZooKeeper has them at this moment."""
        names = list(topics)
        found = await pipelined([self.store.configs.of_topic(topic) for topic in names])
        permitted: dict[str, bool | Exception] = {}
        for topic, overrides in zip(names, found, strict=True):
            if isinstance(overrides, Exception):
                permitted[topic] = overrides
            elif isinstance(overrides, dict):
                override = overrides.get(UNCLEAN)
                default = self.config.unclean_leader_election_enable
                permitted[topic] = default if override is None else override.strip().lower() == "true"
        return permitted

    async def read_assignments(self, topics: Collection[str]) -> dict[str, TopicAssignment]:
        """The assignments of topics, each watched from now on; one that cannot be read has no partitions."""
        names = list(topics)
        found = await pipelined([self.store.topics.assignment(topic, self.watches.topic(topic)) for topic in names])
        read: dict[str, TopicAssignment] = {}
        for topic, one in zip(names, found, strict=True):
            if isinstance(one, MalformedZNode):
                log.error("Topic %s is taken for one without partitions: %s", topic, one)
                read[topic] = TopicAssignment({})
            elif isinstance(one, TopicAssignment):
                read[topic] = one
        raise_first(one for one in found if not isinstance(one, MalformedZNode))
        return read

    async def add_topics(self, assignments: dict[str, TopicAssignment]) -> list[TopicPartition]:
        """Takes topics into the cluster, giving an id to those that lack one (KIP-516); returns their partitions."""
        if self.version.has_topic_ids:
            assignments = await self._with_ids(assignments)
        partitions = []
        turn = Turn(self.given.clock)
        for topic, one in assignments.items():
            self.cluster.add_topic(topic, one.topic_id)
            for number, row in one.partitions.items():
                await turn.maybe_yield()
                partition = TopicPartition(topic, number)
                self.cluster.set_assignment(partition, Assignment(*row))
                partitions.append(partition)
        return partitions

    async def _with_ids(self, assignments: dict[str, TopicAssignment]) -> dict[str, TopicAssignment]:
        made = {topic: self.given.new_topic_id() for topic, one in assignments.items() if one.topic_id is None}
        written = await pipelined([self._give_id(topic, topic_id) for topic, topic_id in made.items()])
        raise_first(written)
        given = {topic: one for topic, one in zip(made, written, strict=True) if isinstance(one, TopicAssignment)}
        return {**assignments, **given}

    async def _give_id(self, topic: str, topic_id: TopicId) -> TopicAssignment:
        """Writes an id into a topic's znode unless it has one by now; returns the assignment as written."""

        def edit(present: TopicAssignment) -> TopicAssignment:
            return present if present.topic_id is not None else present._replace(topic_id=topic_id)

        return await self.store.topics.edit(topic, edit, epoch_zk_version=self.epoch_zk_version)

    async def write_assignment(self, topic: str, assignments: dict[int, Assignment]) -> None:
        """Writes these partitions of a topic, fenced, keeping its id, and the partitions that somebody added to the
        znode and this controller does not know yet. Raises ControllerMoved, NoNode."""
        rows = {number: ReplicaAssignment(*assignment) for number, assignment in assignments.items()}
        topic_id = self.cluster.topic_ids.get(topic)

        def edit(present: TopicAssignment) -> TopicAssignment:
            return TopicAssignment({**present.partitions, **rows}, topic_id)

        await self.store.topics.edit(topic, edit, epoch_zk_version=self.epoch_zk_version)

    async def keep_partitions(self, topic: str, numbers: Collection[int]) -> None:
        """Takes all partitions but these out of a topic's znode, fenced. Raises ControllerMoved, NoNode."""

        def edit(present: TopicAssignment) -> TopicAssignment:
            kept = {number: row for number, row in present.partitions.items() if number in numbers}
            return present._replace(partitions=kept)

        await self.store.topics.edit(topic, edit, epoch_zk_version=self.epoch_zk_version)
