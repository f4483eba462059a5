"""Clients for a Kafka cluster: producer, consumer and admin client, each for plain blocking code and for asyncio.

    environment.py        clock, random numbers and network of a client
    configs.py            settings that all clients share
    metadata.py           the cluster as a value
    cluster.py            metadata, and requests to the right broker
    bootstrap.py          canonical names of the first servers
    security.py           how connections are protected, from the settings
    connections.py        one connection per broker
    node_connection.py    requests over one connection
    coordinator.py        finds the coordinator of a group or transaction
    throttling.py         client-side throttling (KIP-219)
    waiting.py            waits of a thread that signals end
    loop.py               an event loop in a thread
    delegation.py         methods of clients made from those of their parts
    serialization.py      keys and values to bytes, and back
    interceptor_chain.py  the application's interceptors, one after the other
    metrics.py            metrics of every client
    offsets.py            an offset with its metadata
    transaction_calls.py  transactions of other processes, ended
    errors.py             failures that only a client has
    producer/             the producer
    consumer/             the consumer
    admin/                topics, settings, brokers and groups

Not obvious: a name is imported from its module on its first use, so that a command that needs the admin client does not
load the producer as well.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
    from kafka_py.base.ids import ElectionType, TopicPartition
    from kafka_py.clients.admin.client import AdminClient, AsyncAdminClient
    from kafka_py.clients.admin.group_descriptions import (
        ConsumerGroupDescription,
        ConsumerGroupListing,
        ConsumerGroupState,
        MemberDescription,
        MemberToRemove,
    )
    from kafka_py.clients.admin.resources import (
        AlterConfig,
        AlterOperation,
        ConfigEntry,
        ConfigResource,
        ConfigResourceType,
    )
    from kafka_py.clients.admin.topics import NewPartitions, NewTopic
    from kafka_py.clients.consumer.assignors.assignor import (
        Assignment,
        Assignor,
        CountingAssignor,
        GroupMetadata,
        RebalanceProtocol,
        Subscription,
    )
    from kafka_py.clients.consumer.async_consumer import AsyncConsumer
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.consumer.fetching.records import ConsumerRecord, ConsumerRecords, OffsetAndTimestamp
    from kafka_py.clients.consumer.interceptors import ConsumerInterceptor
    from kafka_py.clients.consumer.listener import RebalanceListener
    from kafka_py.clients.errors import (
        BufferExhausted,
        ClientTimeout,
        CommitFailed,
        ConcurrentModification,
        IllegalState,
        LogTruncation,
        NoOffsetForPartition,
        OffsetOutOfRange,
        ProducerFenced,
        RebalanceInProgress,
        TransactionAborted,
        TransactionFailed,
        WakeupError,
    )
    from kafka_py.clients.metadata import Node, PartitionInfo
    from kafka_py.clients.metrics import MetricName, MetricValues
    from kafka_py.clients.offsets import OffsetAndMetadata
    from kafka_py.clients.producer.batches import RecordFuture, RecordMetadata
    from kafka_py.clients.producer.interceptors import ProducerInterceptor, ProducerRecord
    from kafka_py.clients.producer.partitioner import Partitioner
    from kafka_py.clients.producer.producer import AsyncProducer, Producer

__all__ = [
    "AdminClient",
    "AlterConfig",
    "AlterOperation",
    "Assignment",
    "Assignor",
    "AsyncAdminClient",
    "AsyncConsumer",
    "AsyncProducer",
    "BufferExhausted",
    "ClientTimeout",
    "CommitFailed",
    "ConcurrentModification",
    "ConfigEntry",
    "ConfigError",
    "ConfigResource",
    "ConfigResourceType",
    "Consumer",
    "ConsumerGroupDescription",
    "ConsumerGroupListing",
    "ConsumerGroupState",
    "ConsumerInterceptor",
    "ConsumerRecord",
    "ConsumerRecords",
    "CountingAssignor",
    "ElectionType",
    "ErrorCode",
    "GroupMetadata",
    "IllegalState",
    "KafkaError",
    "LogTruncation",
    "MemberDescription",
    "MemberToRemove",
    "MetricName",
    "MetricValues",
    "NewPartitions",
    "NewTopic",
    "NoOffsetForPartition",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetOutOfRange",
    "PartitionInfo",
    "Partitioner",
    "Producer",
    "ProducerFenced",
    "ProducerInterceptor",
    "ProducerRecord",
    "RebalanceInProgress",
    "RebalanceListener",
    "RebalanceProtocol",
    "RecordFuture",
    "RecordMetadata",
    "Subscription",
    "TopicPartition",
    "TransactionAborted",
    "TransactionFailed",
    "WakeupError",
]

_HOMES = {
    "base.errors": ("ConfigError", "ErrorCode", "KafkaError"),
    "base.ids": ("ElectionType", "TopicPartition"),
    "clients.admin.client": ("AdminClient", "AsyncAdminClient"),
    "clients.admin.group_descriptions": (
        "ConsumerGroupDescription",
        "ConsumerGroupListing",
        "ConsumerGroupState",
        "MemberDescription",
        "MemberToRemove",
    ),
    "clients.admin.resources": ("AlterConfig", "AlterOperation", "ConfigEntry", "ConfigResource", "ConfigResourceType"),
    "clients.admin.topics": ("NewPartitions", "NewTopic"),
    "clients.consumer.assignors.assignor": (
        "Assignment",
        "Assignor",
        "CountingAssignor",
        "GroupMetadata",
        "RebalanceProtocol",
        "Subscription",
    ),
    "clients.consumer.async_consumer": ("AsyncConsumer",),
    "clients.consumer.consumer": ("Consumer",),
    "clients.consumer.interceptors": ("ConsumerInterceptor",),
    "clients.consumer.listener": ("RebalanceListener",),
    "clients.consumer.fetching.records": ("ConsumerRecord", "ConsumerRecords", "OffsetAndTimestamp"),
    "clients.errors": (
        "BufferExhausted",
        "ClientTimeout",
        "CommitFailed",
        "ConcurrentModification",
        "IllegalState",
        "LogTruncation",
        "NoOffsetForPartition",
        "OffsetOutOfRange",
        "ProducerFenced",
        "RebalanceInProgress",
        "TransactionAborted",
        "TransactionFailed",
        "WakeupError",
    ),
    "clients.metadata": ("Node", "PartitionInfo"),
    "clients.metrics": ("MetricName", "MetricValues"),
    "clients.offsets": ("OffsetAndMetadata",),
    "clients.producer.batches": ("RecordFuture", "RecordMetadata"),
    "clients.producer.interceptors": ("ProducerInterceptor", "ProducerRecord"),
    "clients.producer.partitioner": ("Partitioner",),
    "clients.producer.producer": ("AsyncProducer", "Producer"),
}
"""Where each name is defined, below kafka_py."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Imports a name on its first use (PEP 562)."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"kafka_py.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
