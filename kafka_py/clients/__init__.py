"""Clients for a Kafka cluster: producer, consumer and admin client, each for plain blocking code and for asyncio.

In reading order: cluster.py (metadata kept fresh, requests to the right broker), connections.py (one per broker),
metadata.py (the cluster as a value), configs.py (settings that all share), loop.py (an event loop in a thread, which
is all that the blocking faces add), serialization.py, errors.py; then producer/, consumer/, admin/.
"""

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
