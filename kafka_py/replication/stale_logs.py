"""Stale log directories, which a deleted topic left under the name of a present topic: which of them may be deleted.

A broker that was down while a partition was moved to other brokers keeps the directory: no request deletes it. When a
topic of the same name is created later, partition.metadata has another topic id than LeaderAndIsr, and Apache Kafka
2.8.2 refuses the role with INCONSISTENT_TOPIC_ID from then on. KIP-516 deletes such directories. But a different id is
no proof: a tool older than 2.8 that rewrites the topic's znode drops the id, the controller assigns another id to the
same topic, and every replica of it, with all its records, has the previous id on disk (KAFKA-14190). So a directory is
deleted only if it cannot have records of the present topic. Pure: knows nothing of files or ZooKeeper.
Source: KIP-516; docs/reference/log.md, section 2; PartitionMetadataFile.
"""

from __future__ import annotations

from typing import Protocol

from kafka_py.base.ids import ZERO_UUID, TopicId
from kafka_py.replication.state.roles import RoleState

FIRST_EPOCH = 0
"""The leader epoch in which a partition is created; every step of a reassignment has a later one."""


class PresentTopic(Protocol):
    """The topic in ZooKeeper. is_original: whether it has had this id, and no other, since it was created."""

    @property
    def topic_id(self) -> TopicId | None: ...

    @property
    def is_original(self) -> bool: ...


def differs(held: TopicId | None, named: TopicId) -> bool:
    """Whether LeaderAndIsr names another topic id than the log; a missing id is not compared."""
    return held is not None and named not in (ZERO_UUID, held)


def is_stale(
    log_end_offset: int | None,
    named: TopicId,
    present: PresentTopic | None,
    state: RoleState,
    broker_id: int,
) -> bool:
    """Whether a log whose topic id differs from LeaderAndIsr's cannot have committed records of the present topic.

    log_end_offset: of the log; None if there is none.
    named: the topic id in LeaderAndIsr. present: the topic in ZooKeeper, None if there is none. The two ids must be
        equal, so that a delayed request, or one of a previous controller, deletes nothing.
    state: the partition's state in LeaderAndIsr; broker_id: of the broker that has the log.
    """
    if broker_id not in state.replicas or present is None or present.topic_id != named:
        return False
    never_written = log_end_offset is None or log_end_offset == 0
    return never_written or present.is_original or _is_without_records(state, broker_id)


def _is_without_records(state: RoleState, broker_id: int) -> bool:
    """Whether the controller expects no records on this replica: it is being added, or the partition is new.

    An in-sync replica may be sent as new again by a controller that took over during the partition's reassignment.
    """
    return state.is_new and (broker_id not in state.isr or state.leader_epoch == FIRST_EPOCH)
