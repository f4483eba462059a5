"""Clients for a Kafka cluster: producer, consumer and admin client, each for plain blocking code and for asyncio.

In reading order: cluster.py (metadata kept fresh, requests to the right broker), connections.py (one per broker),
metadata.py (the cluster as a value), configs.py (settings that all share), loop.py (an event loop in a thread, which
is all that the blocking faces add), serialization.py, errors.py; then producer/, consumer/, admin/.

Not obvious: a name is imported from its module when it is first asked for, so that a command that needs the admin
client does not load the producer as well.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
    from kafka_py.base.ids import TopicPartition
    from kafka_py.clients.admin.client import AdminClient, AsyncAdminClient
    from kafka_py.clients.admin.resources import AlterConfig, AlterOperation, ConfigEntry, ConfigResource, ResourceType
    from kafka_py.clients.admin.topics import NewPartitions, NewTopic
    from kafka_py.clients.consumer.async_consumer import AsyncConsumer
    from kafka_py.clients.consumer.consumer import Consumer
    from kafka_py.clients.consumer.records import ConsumerRecord, ConsumerRecords, OffsetAndTimestamp
    from kafka_py.clients.errors import (
        BufferExhausted,
        ClientTimeout,
        IllegalState,
        NoOffsetForPartition,
        OffsetOutOfRange,
        WakeupError,
    )
    from kafka_py.clients.metadata import Node, PartitionInfo
    from kafka_py.clients.producer.batches import RecordFuture, RecordMetadata
    from kafka_py.clients.producer.producer import AsyncProducer, Producer

__all__ = [
    "AdminClient",
    "AlterConfig",
    "AlterOperation",
    "AsyncAdminClient",
    "AsyncConsumer",
    "AsyncProducer",
    "BufferExhausted",
    "ClientTimeout",
    "ConfigEntry",
    "ConfigError",
    "ConfigResource",
    "Consumer",
    "ConsumerRecord",
    "ConsumerRecords",
    "ErrorCode",
    "IllegalState",
    "KafkaError",
    "NewPartitions",
    "NewTopic",
    "NoOffsetForPartition",
    "Node",
    "OffsetAndTimestamp",
    "OffsetOutOfRange",
    "PartitionInfo",
    "Producer",
    "RecordFuture",
    "RecordMetadata",
    "ResourceType",
    "TopicPartition",
    "WakeupError",
]

_HOMES = {
    "base.errors": ("ConfigError", "ErrorCode", "KafkaError"),
    "base.ids": ("TopicPartition",),
    "clients.admin.client": ("AdminClient", "AsyncAdminClient"),
    "clients.admin.resources": ("AlterConfig", "AlterOperation", "ConfigEntry", "ConfigResource", "ResourceType"),
    "clients.admin.topics": ("NewPartitions", "NewTopic"),
    "clients.consumer.async_consumer": ("AsyncConsumer",),
    "clients.consumer.consumer": ("Consumer",),
    "clients.consumer.records": ("ConsumerRecord", "ConsumerRecords", "OffsetAndTimestamp"),
    "clients.errors": (
        "BufferExhausted",
        "ClientTimeout",
        "IllegalState",
        "NoOffsetForPartition",
        "OffsetOutOfRange",
        "WakeupError",
    ),
    "clients.metadata": ("Node", "PartitionInfo"),
    "clients.producer.batches": ("RecordFuture", "RecordMetadata"),
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
