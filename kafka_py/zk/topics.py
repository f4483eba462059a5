"""Topics: their assignment of partitions to replicas, creation and deletion.

Knows nothing of placement, validation or states of replicas. Source: reference zookeeper.md section 5, controller.md
sections 5 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Self

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicId
from kafka_py.zk.access import NOT_FENCED, ZkAccess, pipelined, raise_first
from kafka_py.zk.session import NodeExists, SetOp, Watch
from kafka_py.zk.znodes import (
    ConfigZNode,
    DeleteTopicsZNode,
    DeleteTopicZNode,
    TopicPartitionsZNode,
    TopicsZNode,
    TopicZNode,
    entity_path,
)


class ReplicaAssignment(NamedTuple):
    """Who holds a partition. While it is reassigned, `replicas` starts with the target and has all old ones too."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class TopicAssignment(NamedTuple):
    """A topic's partitions, by number; numbers may have gaps when somebody wrote the znode by hand."""

    partitions: dict[int, ReplicaAssignment]
    topic_id: TopicId | None = None

    @classmethod
    def of(cls, partitions: Mapping[int, Sequence[int]], topic_id: TopicId | None = None) -> Self:
        """An assignment in which nothing is being reassigned."""
        return cls({number: ReplicaAssignment(tuple(replicas)) for number, replicas in partitions.items()}, topic_id)

    def to_znode(self) -> TopicZNode:
        """As written: a partition without adding (removing) replicas is left out of that map."""
        rows = sorted(self.partitions.items())
        return TopicZNode(
            partitions={number: list(row.replicas) for number, row in rows},
            adding_replicas={number: list(row.adding) for number, row in rows if row.adding},
            removing_replicas={number: list(row.removing) for number, row in rows if row.removing},
            topic_id=self.topic_id,
        )

    @classmethod
    def from_znode(cls, value: TopicZNode) -> Self:
        adding, removing = value.adding_replicas, value.removing_replicas
        return cls(
            {
                number: ReplicaAssignment(
                    tuple(replicas), tuple(adding.get(number, ())), tuple(removing.get(number, ()))
                )
                for number, replicas in value.partitions.items()
            },
            value.topic_id,
        )


class TopicStore(ZkAccess):
    """What topics there are, and which are to go."""

    async def topics(self, watch: Watch | None = None) -> set[str]:
        """The names of all topics, those to be deleted included."""
        return set(await self.children_or_empty(TopicsZNode.path(), watch))

    async def topic_exists(self, topic: str) -> bool:
        """Whether the topic's znode is there."""
        return await self.session.exists(TopicZNode.path(topic)) is not None

    async def topic_assignment(self, topic: str, watch: Watch | None = None) -> TopicAssignment | None:
        """One topic, None if it does not exist. Raises MalformedZNode."""
        found = await self.read(TopicZNode.path(topic), watch)
        return None if found is None else TopicAssignment.from_znode(TopicZNode.decode(found[0]))

    async def topic_assignments(
        self, topics: Iterable[str], watch_of: Callable[[str], Watch] | None = None
    ) -> dict[str, TopicAssignment]:
        """The named topics, pipelined; missing ones are left out. `watch_of(topic)`: data watch to set on it.

        Raises MalformedZNode for the first that cannot be read.
        """
        names = list(topics)
        found = await pipelined(
            self.topic_assignment(name, watch_of(name) if watch_of is not None else None) for name in names
        )
        raise_first(found)
        return {name: one for name, one in zip(names, found, strict=True) if isinstance(one, TopicAssignment)}

    async def partition_count(self, topic: str) -> int | None:
        """How many partitions a topic has, None if it does not exist."""
        assignment = await self.topic_assignment(topic)
        return None if assignment is None else len(assignment.partitions)

    async def partitions_with_state(self, topic: str) -> set[int]:
        """The partition numbers the controller has made znodes for: those that really exist."""
        return {int(name) for name in await self.children_or_empty(TopicPartitionsZNode.path(topic))}

    async def create_topic(
        self, topic: str, assignment: TopicAssignment, configs: Mapping[str, str] | None = None
    ) -> None:
        """Writes a new topic: first its configs (even if there are none), then the assignment, which the controller
        watches. No config change notification is needed.

        Raises KafkaError(TOPIC_ALREADY_EXISTS).
        """
        await self.set_or_create(
            ConfigZNode.path(entity_path(("topics", topic))), ConfigZNode(dict(configs or {})).encode()
        )
        try:
            await self.create_recursive(TopicZNode.path(topic), assignment.to_znode().encode())
        except NodeExists:
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic}' already exists.") from None

    async def set_topic_assignment(
        self, topic: str, assignment: TopicAssignment, *, epoch_zk_version: int = NOT_FENCED
    ) -> None:
        """Rewrites a topic, whatever its version. The caller keeps the topic id that is there. Raises NoNode."""
        await self.fenced(SetOp(TopicZNode.path(topic), assignment.to_znode().encode()), epoch_zk_version)

    async def topics_to_delete(self, watch: Watch | None = None) -> set[str]:
        """The topics queued for deletion."""
        return set(await self.children_or_empty(DeleteTopicsZNode.path(), watch))

    async def mark_for_deletion(self, topic: str) -> None:
        """Queues a topic for deletion by the controller; queued already is fine."""
        await self.ensure_path(DeleteTopicZNode.path(topic))

    async def unmark_for_deletion(self, topics: Iterable[str], epoch_zk_version: int) -> None:
        """Takes topics off the deletion queue."""
        await self.delete_many([DeleteTopicZNode.path(topic) for topic in topics], epoch_zk_version=epoch_zk_version)

    async def delete_topic(self, topic: str, epoch_zk_version: int) -> None:
        """The last act of a deletion: topic, then configs, then queue entry, so that a new controller can resume."""
        await self.delete_recursive(TopicZNode.path(topic), epoch_zk_version=epoch_zk_version)
        await self.delete_recursive(ConfigZNode.path(entity_path(("topics", topic))), epoch_zk_version=epoch_zk_version)
        await self.unmark_for_deletion([topic], epoch_zk_version)
