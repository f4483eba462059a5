"""Creation, extension and deletion of topics, for requests, auto-creation and the tools that use ZooKeeper (I/O).

Runs the checks in Kafka's order and makes a plan; then writes the znodes, which the controller watches. Any broker may
do this. Knows no API and does not wait for leaders.
Source: docs/reference/controller.md, section 14; docs/reference/zookeeper.md, section 8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple
from weakref import WeakSet

from kafka_py.base.chance import Chance
from kafka_py.base.clock import Clock
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.exclusion import KeyedLocks
from kafka_py.base.ids import TopicId
from kafka_py.base.placement import BrokerRack, Placement, placing, require_racks_of_all_or_none, without_racks
from kafka_py.base.turns import Turn, in_turns
from kafka_py.controller import topic_names
from kafka_py.controller.assignment_checks import checking, checking_added, copied, invalid_assignment
from kafka_py.controller.configs import ControllerOptions
from kafka_py.controller.topic_policy import CreateTopicPolicy, RequestMetadata
from kafka_py.zk.access import PIPELINE_WIDTH
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import NoNode
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment

Permit = Callable[[int], object]
"""(partitions that are created): raises KafkaError when they may not be created now."""

FRESH_MS = 100.0
"""How long the names that a request has read are used, from when they are in order."""

BROKER_DEFAULT = -1
"""As a count: use the broker's default."""


class TopicToCreate(NamedTuple):
    """A topic to be created: counts, or an assignment of replicas to every partition.

    is_repeated: a partition is assigned more than once, of which `assignment` has the last.
    """

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignment: Mapping[int, Sequence[int]] = {}
    configs: Mapping[str, str | None] = {}
    is_repeated: bool = False


class PlannedTopic(NamedTuple):
    """A topic that has passed all checks. topic_id: None if the inter-broker protocol has no topic ids."""

    name: str
    assignment: Placement
    configs: Mapping[str, str]
    topic_id: TopicId | None

    @property
    def partitions(self) -> int:
        return len(self.assignment)

    @property
    def replication_factor(self) -> int:
        return len(next(iter(self.assignment.values())))


class PlannedGrowth(NamedTuple):
    """New partitions of a topic that have passed all checks. before: the assignment that was checked."""

    name: str
    before: TopicAssignment
    added: Placement


class GrowthBasis(NamedTuple):
    """Data that is read once for all topics of a request. topics: names of the existing ones; None: not read."""

    brokers: Sequence[BrokerRack]
    topics: frozenset[str] | None


class ReadNames(NamedTuple):
    """Names of topics by their names in metrics, and when they were in order."""

    by_name_in_metrics: Mapping[str, Sequence[str]]
    read_ms: float


class CreationBasis:
    """The names that topics of one request may collide with, read for all of them, and again when FRESH_MS have passed.

    Topics that this broker creates meanwhile are added (TopicAdmin.create). A topic that another broker creates, or a
    tool that uses ZooKeeper, is seen at the next reading, or when the request names it too. With a reading for each
    topic there would be such a gap as well, between the reading and the write.
    """

    def __init__(self, store: ZkStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._reading: asyncio.Task[ReadNames] | None = None
        self._known: dict[str, set[str]] = {}  # topics that were added, by name in metrics

    async def colliding(self, name: str, turn: Turn) -> list[str]:
        """The other topics whose metrics `name` would share, in name order."""
        if not topic_names.has_collision_chars(name):
            return []
        reading = self._reading
        if reading is None or (reading.done() and self._is_over(reading)):
            reading = self._reading = asyncio.create_task(self._read(turn))
            reading.add_done_callback(self._forget_failed)
        try:
            names = await asyncio.shield(reading)  # others wait for it as well
        finally:
            del reading  # a failure's traceback would refer to it, and it to the failure
        in_metrics = topic_names.in_metrics(name)
        found = {*names.by_name_in_metrics.get(in_metrics, ()), *self._known.get(in_metrics, ())}
        return sorted(found - {name})

    async def _read(self, turn: Turn) -> ReadNames:
        names = await self._store.topics.names()
        in_order = await turn.finish(topic_names.by_name_in_metrics(names))
        return ReadNames(in_order, self._clock.monotonic_ms())

    def _forget_failed(self, reading: asyncio.Task[ReadNames]) -> None:
        """Also a failure that nobody waits for any longer has been seen then."""
        if (reading.cancelled() or reading.exception() is not None) and self._reading is reading:
            self._reading = None

    def _is_over(self, reading: asyncio.Task[ReadNames]) -> bool:
        has_failed = reading.cancelled() or reading.exception() is not None
        return has_failed or self._clock.monotonic_ms() > reading.result().read_ms + FRESH_MS

    def add(self, name: str) -> None:
        """A topic that the request has found, or that this broker has created for this or another request."""
        if topic_names.has_collision_chars(name):
            self._known.setdefault(topic_names.in_metrics(name), set()).add(name)


class _Changed(Exception):
    """Another client wrote the topic since it was read."""


class RackMode(Enum):
    """How racks are used for placement."""

    ENFORCED = "all brokers have one, or none"
    SAFE = "ignored unless all brokers have one"
    DISABLED = "ignored"


class TopicAdmin:
    """Creates, extends and deletes topics.

    live_brokers: the brokers on which CreateTopics and auto-creation may place replicas. exists: whether the topic is
    in this broker's metadata cache. is_queued: whether the topic is queued for deletion. validate_configs: raises
    KafkaError(INVALID_CONFIG) for invalid settings. They are called for each topic.
    """

    def __init__(
        self,
        store: ZkStore,
        config: Callable[[], ControllerOptions],
        *,
        live_brokers: Callable[[], Sequence[BrokerRack]],
        validate_configs: Callable[[Mapping[str, str]], object],
        chance: Chance,
        clock: Clock,
        exists: Callable[[str], bool] = lambda _: False,
        is_queued: Callable[[str], bool] = lambda _: False,
        policy: CreateTopicPolicy | None = None,
    ) -> None:
        self._store = store
        self._config = config
        self._live_brokers = live_brokers
        self._validate_configs = validate_configs
        self._exists = exists
        self._is_queued = is_queued
        self._policy = policy
        self._placing = chance.generator()
        self._new_topic_id = chance.new_topic_id
        self._clock = clock
        self._growing = KeyedLocks()
        self._bases: WeakSet[CreationBasis] = WeakSet()

    # Creation

    async def create(
        self, new: TopicToCreate, *, validate_only: bool = False, permit: Permit | None = None,
        basis: CreationBasis | None = None, turn: Turn | None = None,
    ) -> PlannedTopic:  # fmt: skip
        """Creates a topic, or with `validate_only` only plans it.

        permit: called right before the topic is written. basis, turn: of the request, whose other topics share them.
        Raises KafkaError with the codes of CreateTopics, and of `permit`; TOPIC_ALREADY_EXISTS also when it is created
        concurrently.
        """
        basis = basis or CreationBasis(self._store, self._clock)
        try:
            planned = await self.plan(new, basis, turn)
            if validate_only:
                return planned
            if permit is not None:
                permit(planned.partitions)
            await self.write(planned)
        except KafkaError as error:
            if error.code is ErrorCode.TOPIC_ALREADY_EXISTS:
                basis.add(new.name)
            raise
        for each in self._bases:
            each.add(new.name)
        return planned

    def creation_basis(self) -> CreationBasis:
        """For the topics of one request; topics of other requests are added to it as they are created."""
        basis = CreationBasis(self._store, self._clock)
        self._bases.add(basis)
        return basis

    async def plan(
        self, new: TopicToCreate, basis: CreationBasis | None = None, turn: Turn | None = None
    ) -> PlannedTopic:
        """The topic with its replicas placed. Raises KafkaError for the first failed check."""
        turn = turn or Turn(self._clock)
        if self._exists(new.name):
            raise _already_exists(new.name)
        configs = {name: value for name, value in new.configs.items() if value is not None}
        nulls = sorted(new.configs.keys() - configs.keys())
        if nulls:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for topic configs: {nulls}")
        counts = self._counts(new)
        if counts is None:
            assignment = await turn.finish(copied(new.assignment))
        else:
            assignment = await turn.finish(placing(self._live_brokers(), *counts, chance=self._placing))
        await self._check_name(new.name, basis or CreationBasis(self._store, self._clock), turn)
        if new.is_repeated:
            raise invalid_assignment("A partition is assigned more than once.")
        await turn.finish(checking(assignment))
        self._validate_configs(configs)
        if self._policy is not None:
            partitions, factor = counts or (None, None)
            explicit = None if counts else assignment
            self._policy.validate(RequestMetadata(new.name, partitions, factor, explicit, configs))
        topic_id = self._new_topic_id() if self._config().inter_broker_version().has_topic_ids else None
        return PlannedTopic(new.name, assignment, configs, topic_id)

    async def write(self, planned: PlannedTopic) -> None:
        """Writes the znodes. Raises KafkaError(TOPIC_ALREADY_EXISTS)."""
        assignment = await in_turns(TopicAssignment.making(planned.assignment, planned.topic_id))
        await self._store.topics.create(planned.name, assignment, planned.configs)

    def _counts(self, new: TopicToCreate) -> tuple[int, int] | None:
        """Partitions and replication factor, with defaults applied; None when replicas are assigned explicitly."""
        if new.assignment:
            if (new.partitions, new.replication_factor) != (BROKER_DEFAULT, BROKER_DEFAULT):
                detail = "Give either a number of partitions and a replication factor, or an assignment, not both."
                raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
            return None
        config = self._config()
        partitions = config.num_partitions if new.partitions == BROKER_DEFAULT else new.partitions
        factor = new.replication_factor
        return partitions, config.default_replication_factor if factor == BROKER_DEFAULT else factor

    async def _check_name(self, name: str, basis: CreationBasis, turn: Turn) -> None:
        topic_names.validate(name)
        if await self._store.topics.exists(name):
            raise _already_exists(name)
        await turn.maybe_yield()  # the replies for many topics come together
        others = await basis.colliding(name, turn)
        if others:
            detail = f"Topic '{name}' collides with existing topics: {', '.join(others)}"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, detail)

    # More partitions

    async def growth_basis(self, topics: int, rack_mode: RackMode = RackMode.ENFORCED) -> GrowthBasis:
        """The shared data for `grow` of that many topics. Raises like registered_brokers."""
        brokers = await registered_brokers(self._store, rack_mode)
        names = frozenset(await self._store.topics.names()) if topics > PIPELINE_WIDTH else None
        return GrowthBasis(brokers, names)

    async def grow(
        self, topic: str, count: int, replicas: Sequence[Sequence[int]] | None = None, *,
        validate_only: bool = False, basis: GrowthBasis | None = None, permit: Permit | None = None,
        turn: Turn | None = None,
    ) -> PlannedGrowth:  # fmt: skip
        """Extends a topic to `count` partitions, or with `validate_only` only plans it.

        replicas: of each new partition; None places them. basis: of the request; read here if None.
        permit: called right before the partitions are written. turn: of the request, whose other topics share it.
        Raises KafkaError with the codes of CreatePartitions, and of `permit`.
        """
        async with self._growing.hold(topic):
            while True:
                planned = await self.plan_growth(topic, count, replicas, basis, turn)
                if validate_only:
                    return planned
                if permit is not None:
                    permit(len(planned.added))
                    permit = None  # when another client has changed the topic, it is written again
                if await self._write_growth(planned, turn or Turn(self._clock)):
                    return planned

    async def plan_growth(
        self, topic: str, count: int, replicas: Sequence[Sequence[int]] | None = None,
        basis: GrowthBasis | None = None, turn: Turn | None = None,
    ) -> PlannedGrowth:  # fmt: skip
        """The new partitions with their replicas. Raises KafkaError for the first failed check."""
        turn = turn or Turn(self._clock)
        if self._is_queued(topic):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"The topic '{topic}' is queued for deletion.")
        brokers, names = basis or await self.growth_basis(1)
        can_exist = topic in names if names is not None else topic_names.can_exist(topic)
        try:
            before = await self._store.topics.assignment(topic, turn=turn) if can_exist else None
        except MalformedZNode:
            before = None
        await turn.maybe_yield()
        if before is None or not before.partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")
        if any(row.adding or row.removing for row in before.partitions.values()):
            detail = f"A partition of topic '{topic}' is being reassigned; add partitions once that is done."
            raise KafkaError(ErrorCode.REASSIGNMENT_IN_PROGRESS, detail)
        current = len(before.partitions)
        if count <= current:
            detail = f"Topic currently has {current} partitions, which is not less than the requested {count}."
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, detail)
        like = before.partitions.get(0)
        if like is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"Topic '{topic}' has no partition 0.")
        if replicas is None:
            steps = _continuing(brokers, like.replicas, current, count)
        else:
            known = {broker.id for broker in brokers}
            steps = checking_added(replicas, current, count - current, len(like.replicas), known)
        return PlannedGrowth(topic, before, await turn.finish(steps))

    async def _write_growth(self, planned: PlannedGrowth, turn: Turn) -> bool:
        """Adds the partitions to the topic's znode; False if the topic has changed since the checks."""
        added = await in_turns(TopicAssignment.making(planned.added))
        after = planned.before._replace(partitions={**planned.before.partitions, **added.partitions})

        def edit(present: TopicAssignment) -> TopicAssignment:
            if present != planned.before:
                raise _Changed
            return after

        try:
            await self._store.topics.edit(planned.name, edit, turn=turn)
        except (_Changed, NoNode):
            return False
        return True

    # Deletion

    async def delete(self, topic: str) -> None:
        """Queues a topic for deletion by the controller; may be repeated.

        Raises KafkaError(UNKNOWN_TOPIC_OR_PARTITION).
        """
        if not topic_names.can_exist(topic) or not await self._store.topics.exists(topic):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{topic}' does not exist.")
        await self._store.topics.mark_for_deletion(topic)


async def registered_brokers(store: ZkStore, mode: RackMode = RackMode.ENFORCED) -> list[BrokerRack]:
    """The live brokers in ZooKeeper, by id.

    Raises KafkaError(UNKNOWN_SERVER_ERROR) under ENFORCED when only some have a rack.
    """
    brokers = [BrokerRack(broker.id, broker.rack) for _, broker in sorted((await store.brokers.all()).items())]
    if mode is RackMode.ENFORCED:
        require_racks_of_all_or_none(brokers)
        return brokers
    if mode is RackMode.SAFE and all(broker.rack is not None for broker in brokers):
        return brokers
    return without_racks(brokers)


def _continuing(
    brokers: Sequence[BrokerRack], like: Sequence[int], current: int, count: int
) -> Generator[None, None, Placement]:
    """Continues the placement of partition 0: the index of its first replica is start and shift."""
    start = next((index for index, broker in enumerate(brokers) if broker.id >= like[0]), 0)
    return placing(brokers, count - current, len(like), fixed_start=start, first_partition=current)


def _already_exists(topic: str) -> KafkaError:
    return KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")
