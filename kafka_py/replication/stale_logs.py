"""Directories that a deleted topic left behind under the name of a present topic: which of them may be deleted.

A broker that was down while a partition was moved to other brokers keeps the directory: no request deletes it. When a
topic of the same name is created later, partition.metadata names another topic id than LeaderAndIsr, and Apache Kafka
2.8.2 refuses the role with INCONSISTENT_TOPIC_ID from then on. KIP-516 has such directories deleted. But another id
alone proves nothing: a tool from before 2.8 that rewrites the topic's znode drops the id, the controller gives the same
topic another one, and every replica of it, with all its records, has the former id on disk (KAFKA-14190). So a
directory is deleted only where it cannot hold records of the present topic. Pure: knows nothing of files or ZooKeeper.
Source: KIP-516; docs/reference/log.md, section 2; PartitionMetadataFile.
"""

from __future__ import annotations

from kafka_py.base.ids import ZERO_UUID, TopicId
from kafka_py.log.partition_log import PartitionLog
from kafka_py.replication.partition import Partition
from kafka_py.zk.topics import TopicIdentity


def id_of(partition: Partition | None, partition_log: PartitionLog | None) -> TopicId | None:
    """The id of the topic whose replica this broker has; None without a replica, or for a topic without an id."""
    if partition is not None and partition.topic_id is not None:
        return partition.topic_id
    return partition_log.topic_id if partition_log is not None else None


def differs(held: TopicId | None, named: TopicId) -> bool:
    """Whether LeaderAndIsr names another topic; an id that is absent on either side is not compared."""
    return held is not None and named not in (ZERO_UUID, held)


def is_stale(partition_log: PartitionLog | None, named: TopicId, present: TopicIdentity | None, is_new: bool) -> bool:
    """Whether a log whose id is not the one in LeaderAndIsr cannot hold records of the present topic.

    named: the id in LeaderAndIsr. present: what ZooKeeper has under the topic's name, None if it has nothing. The two
        ids must be equal, so that a delayed request, or one of a former controller, deletes nothing.
    is_new: the controller says that this replica has no log yet: the partition is new, or the replica is being added
        and is not in sync.
    """
    if present is None or present.topic_id != named:
        return False
    never_written = partition_log is None or partition_log.log_end_offset == 0
    return never_written or is_new or present.is_original
