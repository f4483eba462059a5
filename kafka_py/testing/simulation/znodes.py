"""The contents of a simulated cluster's ZooKeeper, read without a session."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import to_end
from kafka_py.testing.znode_tree import ZnodeTree
from kafka_py.zk.session import NoNode
from kafka_py.zk.topics import TopicAssignment
from kafka_py.zk.znodes import PartitionStateZNode, TopicPartitionsZNode, TopicsZNode, TopicZNode


def data_of(tree: ZnodeTree, path: str) -> bytes | None:
    """A znode's data; None also where there is no znode."""
    try:
        return tree.node(path).data
    except NoNode:
        return None


def children_of(tree: ZnodeTree, path: str) -> list[str]:
    """Names in order; none where there is no znode."""
    try:
        return sorted(tree.node(path).children)
    except NoNode:
        return []


def partition_state(tree: ZnodeTree, partition: TopicPartition) -> PartitionStateZNode | None:
    """Leader and in-sync set of a partition; None when it has not been made."""
    data = data_of(tree, PartitionStateZNode.path(*partition))
    return None if data is None else PartitionStateZNode.decode(data)


def partition_states(tree: ZnodeTree) -> Iterator[tuple[TopicPartition, PartitionStateZNode]]:
    """Leader and in-sync set of every partition that has been made."""
    for topic in children_of(tree, TopicsZNode.path()):
        for number in children_of(tree, TopicPartitionsZNode.path(topic)):
            partition = TopicPartition(topic, int(number))
            state = partition_state(tree, partition)
            if state is not None:
                yield partition, state


def assignments(tree: ZnodeTree) -> dict[str, TopicAssignment]:
    """Every topic with its replicas."""
    found = {}
    for topic in children_of(tree, TopicsZNode.path()):
        data = data_of(tree, TopicZNode.path(topic))
        if data is not None:
            found[topic] = to_end(TopicAssignment.decoding(data))
    return found


def replicas_of(tree: ZnodeTree) -> dict[TopicPartition, tuple[int, ...]]:
    """The replicas of every partition."""
    return {
        TopicPartition(topic, number): row.replicas
        for topic, assignment in assignments(tree).items()
        for number, row in assignment.partitions.items()
    }
