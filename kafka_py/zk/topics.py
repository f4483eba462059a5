"""Topics: their assignment of partitions to replicas, creation and deletion.

Knows nothing of placement, validation or states of replicas.
Source: docs/reference/zookeeper.md, section 8; docs/reference/controller.md, sections 6 and 9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Self

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicId
from kafka_py.base.steps import slices
from kafka_py.base.turns import Turn, in_turns
from kafka_py.zk.access import NOT_FENCED, Found, ZkAccess, pipelined, raise_first
from kafka_py.zk.config_znodes import ConfigZNode, entity_path
from kafka_py.zk.schema import MalformedZNode, dump_json
from kafka_py.zk.session import CreateOp, MultiFailed, NodeExists, NoNode, SetOp, Watch, path_parents
from kafka_py.zk.znodes import (
    DeleteTopicsZNode,
    DeleteTopicZNode,
    TopicPartitionsZNode,
    TopicsZNode,
    TopicZNode,
)

STEP_PARTITIONS = 64
"""The number of partitions after which the work on one topic yields; each takes some 5 microseconds."""

STEP_BYTES = 1024
"""The size of the pieces in which the data of a large topic is decoded; a partition has 15 to 30 bytes."""

_MAPS = ("partitions", "adding_replicas", "removing_replicas")

_FIELD = re.compile(rb'[{,]"(\w+)":(\{|\d+|"[\w-]*")')
"""A key of a topic's data as Kafka writes it, without spaces, and its value: a number, an id or the start of a map."""


class ReplicaAssignment(NamedTuple):
    """The replicas of a partition. During a reassignment `replicas` has the target first, then the old ones."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class TopicIdentity(NamedTuple):
    """The topic id in ZooKeeper. is_original: the topic has had this id since it was created."""

    topic_id: TopicId | None
    is_original: bool


class TopicAssignment(NamedTuple):
    """A topic's partitions by number; numbers may have gaps if the znode was written by hand."""

    partitions: dict[int, ReplicaAssignment]
    topic_id: TopicId | None = None

    @classmethod
    def of(cls, partitions: Mapping[int, Sequence[int]], topic_id: TopicId | None = None) -> Self:
        """An assignment without reassignments."""
        return cls({number: ReplicaAssignment(tuple(replicas)) for number, replicas in partitions.items()}, topic_id)

    @classmethod
    def making(
        cls, partitions: Mapping[int, Sequence[int]], topic_id: TopicId | None = None
    ) -> Generator[None, None, Self]:
        """As `of`, but a generator that yields between STEP_PARTITIONS and the next (base/turns.py)."""
        made: dict[int, ReplicaAssignment] = {}
        for count, some in enumerate(slices(partitions.items(), STEP_PARTITIONS)):
            if count:  # most topics are not larger than one slice, and need no stop
                yield
            made.update((number, ReplicaAssignment(tuple(replicas))) for number, replicas in some)
        return cls(made, topic_id)

    def to_znode(self) -> TopicZNode:
        """The znode; partitions without adding (removing) replicas are left out of that map."""
        rows = sorted(self.partitions.items())
        return TopicZNode(
            partitions={number: list(row.replicas) for number, row in rows},
            adding_replicas={number: list(row.adding) for number, row in rows if row.adding},
            removing_replicas={number: list(row.removing) for number, row in rows if row.removing},
            topic_id=self.topic_id,
        )

    def encoding(self) -> Generator[None, None, bytes]:
        """The data of `to_znode()`; yields between STEP_PARTITIONS and the next."""
        texts: dict[str, list[bytes]] = {}
        for count, some in enumerate(slices(sorted(self.partitions), STEP_PARTITIONS)):
            if count:
                yield
            part = TopicAssignment({number: self.partitions[number] for number in some}).to_znode().to_json()
            for name in _MAPS:
                if part[name]:
                    texts.setdefault(name, []).append(dump_json(part[name])[1:-1])
        data = TopicZNode(topic_id=self.topic_id).encode()
        for name, pieces in texts.items():
            data = data.replace(b'"%b":{}' % name.encode(), b'"%b":{%b}' % (name.encode(), b",".join(pieces)))
        return data

    @classmethod
    def decoding(cls, data: bytes | None) -> Generator[None, None, Self]:
        """The assignment in a znode's data; yields after every STEP_BYTES and every STEP_PARTITIONS.

        Data of another form than Kafka writes (spaces, unknown objects) is decoded in one step. Raises MalformedZNode.
        """
        value = yield from _decoding(data or b"")
        adding, removing = value.adding_replicas, value.removing_replicas
        made: dict[int, ReplicaAssignment] = {}
        for count, some in enumerate(slices(value.partitions.items(), STEP_PARTITIONS)):
            if count:
                yield
            for number, replicas in some:
                also = tuple(adding.get(number, ())), tuple(removing.get(number, ()))
                made[number] = ReplicaAssignment(tuple(replicas), *also)
        return cls(made, value.topic_id)


def _decoding(data: bytes) -> Generator[None, None, TopicZNode]:
    """The znode; its maps are decoded in pieces. Raises MalformedZNode."""
    split = _without_maps(data) if len(data) > STEP_BYTES else None
    if split is None:
        return TopicZNode.decode(data)
    rest, maps = split
    found: dict[str, dict[int, list[int]]] = {name: {} for name in _MAPS}
    try:
        topic_id = TopicZNode.decode(rest).topic_id
        for name, body in maps.items():
            for piece in _pieces(body):
                part = TopicZNode.decode(b'{"%b":{%b}}' % (name, piece))
                for each in _MAPS:
                    found[each].update(getattr(part, each))
                yield
    except MalformedZNode:
        return TopicZNode.decode(data)  # raises, with a message about all of it
    return TopicZNode(**found, topic_id=topic_id)


def _without_maps(data: bytes) -> tuple[bytes, dict[bytes, bytes]] | None:
    """The JSON object with empty maps, and what is inside them by name; None for data that Kafka does not write."""
    rest: list[bytes] = []
    maps: dict[bytes, bytes] = {}
    end = 0
    while field := _FIELD.match(data, end):
        rest.append(field[0])
        end = field.end()
        if field[2] == b"{":
            start, end = end, data.find(b"}", end) + 1
            inside = data[start : end - 1]
            if not end or b"{" in inside or field[1] in maps:
                return None
            maps[field[1]] = inside
            rest.append(b"}")
    return (b"".join((*rest, b"}")), maps) if data[end:] == b"}" else None


def _pieces(body: bytes) -> Iterator[bytes]:
    """The inside of a JSON object of lists, in pieces of at least STEP_BYTES that are its insides, too.

    Raises MalformedZNode when there is no comma between two of them.
    """
    start = 0
    while start < len(body):
        end = body.find(b"]", start + STEP_BYTES) + 1 or len(body)
        if start:
            if body[start : start + 1] != b"," or not body[start + 1 : end].strip():
                raise MalformedZNode("no comma between two partitions")
            start += 1
        yield body[start:end]
        start = end


class TopicStore:
    """Topics, their assignments, and the deletion queue."""

    def __init__(self, znodes: ZkAccess) -> None:
        self._znodes = znodes

    async def names(self, watch: Watch | None = None) -> set[str]:
        """The names of all topics, including those queued for deletion."""
        return set(await self._znodes.children_or_empty(TopicsZNode.path(), watch))

    async def exists(self, topic: str) -> bool:
        """Whether the topic's znode exists."""
        return await self._znodes.session.exists(TopicZNode.path(topic)) is not None

    async def assignment(
        self, topic: str, watch: Watch | None = None, *, turn: Turn | None = None
    ) -> TopicAssignment | None:
        """The assignment of one topic, None if it does not exist. Raises MalformedZNode.

        turn: asked before it is decoded: the replies for many topics come together.
        """
        found = await self._znodes.read(TopicZNode.path(topic), watch)
        if turn is not None:
            await turn.maybe_yield()
        return None if found is None else await in_turns(TopicAssignment.decoding(found[0]))

    async def identity(self, topic: str) -> TopicIdentity | None:
        """The topic's id, read after a sync; None if the topic does not exist. Raises MalformedZNode."""
        path = TopicZNode.path(topic)
        await self._znodes.session.sync(path)
        found = await self._znodes.read(path)
        if found is None:
            return None
        return TopicIdentity(TopicZNode.decode(found[0]).topic_id, is_original=found[1].version == 0)

    async def assignments(
        self, topics: Iterable[str], watch_of: Callable[[str], Watch] | None = None
    ) -> dict[str, TopicAssignment]:
        """The assignments of these topics, pipelined, without missing ones. watch_of: topic -> data watch to set.

        Raises MalformedZNode for the first unreadable one.
        """
        names = list(topics)
        found = await pipelined(
            self.assignment(name, watch_of(name) if watch_of is not None else None) for name in names
        )
        raise_first(found)
        return {name: one for name, one in zip(names, found, strict=True) if isinstance(one, TopicAssignment)}

    async def partition_count(self, topic: str) -> int | None:
        """The number of partitions of a topic, None if it does not exist."""
        assignment = await self.assignment(topic)
        return None if assignment is None else len(assignment.partitions)

    async def partitions_with_state(self, topic: str) -> set[int]:
        """The partition numbers for which the controller has created znodes."""
        return {int(name) for name in await self._znodes.children_or_empty(TopicPartitionsZNode.path(topic))}

    async def create(
        self, topic: str, assignment: TopicAssignment, configs: Mapping[str, str] | None = None
    ) -> None:
        """Creates a topic and its configs (even if empty) in one transaction.

        So every reader of the topic sees its configs, and a rejected creation does not change the configs of an
        existing topic. The controller watches the topics; no config change notification is needed. Raises
        KafkaError(TOPIC_ALREADY_EXISTS).
        """
        config_path = ConfigZNode.path(entity_path(("topics", topic)))
        config = ConfigZNode(dict(configs or {})).encode()
        create = CreateOp(TopicZNode.path(topic), await in_turns(assignment.encoding()))
        write_config: CreateOp | SetOp = CreateOp(config_path, config)
        while True:
            try:
                await self._znodes.session.multi([write_config, create])
                return
            except MultiFailed as failure:
                match failure.index, failure.error:
                    case 0, NodeExists():  # written by a tool beforehand, or left by a deletion that was interrupted
                        write_config = SetOp(config_path, config)
                    case 1, NodeExists():
                        if not await self._is_ours(topic, assignment.topic_id):
                            raise _already_exists(topic) from None
                        return
                    case 0, NoNode() if isinstance(write_config, SetOp):
                        write_config = CreateOp(config_path, config)
                    case index, NoNode():
                        await self._znodes.ensure_path(path_parents((config_path, create.path)[index])[0])
                    case _:
                        raise failure.error from None

    async def _is_ours(self, topic: str, topic_id: TopicId | None) -> bool:
        """Whether the existing topic is the one we wrote: a request is resent if its response was lost."""
        if topic_id is None:
            return False
        try:
            present = await self.assignment(topic)
        except MalformedZNode:
            return False
        return present is not None and present.topic_id == topic_id

    async def set_assignment(
        self, topic: str, assignment: TopicAssignment, *, epoch_zk_version: int = NOT_FENCED
    ) -> None:
        """Replaces the assignment of a topic. Raises NoNode. To change an assignment, use `edit`."""
        data = await in_turns(assignment.encoding())
        await self._znodes.fenced(SetOp(TopicZNode.path(topic), data), epoch_zk_version)

    async def edit(
        self,
        topic: str,
        edit: Callable[[TopicAssignment], TopicAssignment],
        *,
        epoch_zk_version: int = NOT_FENCED,
        turn: Turn | None = None,
    ) -> TopicAssignment:
        """Changes a topic's assignment; returns it as written.

        edit: the current assignment (without partitions if it cannot be read) -> the new one. It is called again, with
            the newer assignment, when another client wrote the topic meanwhile. Its exceptions are raised here.
        turn: asked before it is decoded, and before it is encoded. Raises NoNode.
        """
        written = TopicAssignment({})

        async def change(found: Found | None) -> bytes:
            nonlocal written
            if found is None:
                raise NoNode(TopicZNode.path(topic))
            if turn is not None:
                await turn.maybe_yield()
            try:
                present = await in_turns(TopicAssignment.decoding(found[0]))
            except MalformedZNode:
                present = TopicAssignment({})
            written = edit(present)
            if turn is not None:
                await turn.maybe_yield()
            return await in_turns(written.encoding())

        await self._znodes.update(TopicZNode.path(topic), change, epoch_zk_version=epoch_zk_version)
        return written

    async def marked_for_deletion(self, watch: Watch | None = None) -> set[str]:
        """The topics queued for deletion."""
        return set(await self._znodes.children_or_empty(DeleteTopicsZNode.path(), watch))

    async def mark_for_deletion(self, topic: str) -> None:
        """Queues a topic for deletion by the controller; no error if it is queued already."""
        await self._znodes.ensure_path(DeleteTopicZNode.path(topic))

    async def unmark_for_deletion(self, topics: Iterable[str], epoch_zk_version: int) -> None:
        """Removes topics from the deletion queue."""
        paths = [DeleteTopicZNode.path(topic) for topic in topics]
        await self._znodes.delete_many(paths, epoch_zk_version=epoch_zk_version)

    async def delete(self, topic: str, epoch_zk_version: int) -> None:
        """Completes a deletion: removes topic, then configs, then queue entry, so that a new controller can resume."""
        await self._znodes.delete_recursive(TopicZNode.path(topic), epoch_zk_version=epoch_zk_version)
        overrides = ConfigZNode.path(entity_path(("topics", topic)))
        await self._znodes.delete_recursive(overrides, epoch_zk_version=epoch_zk_version)
        await self.unmark_for_deletion([topic], epoch_zk_version)


def _already_exists(topic: str) -> KafkaError:
    return KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.")
