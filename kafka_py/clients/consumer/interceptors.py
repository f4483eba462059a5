"""Interceptors of the consumer (interceptor.classes): they see records before poll returns them, and committed offsets.

The setting holds class names, classes or objects, which are called in that order. What an interceptor raises is logged,
and the next one gets what this one got. Source: KIP-42.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafka_py.base.ids import TopicPartition
from kafka_py.base.plugins import make_plugin
from kafka_py.clients.consumer.fetching.records import ConsumerRecords
from kafka_py.clients.interceptor_chain import SETTING, InterceptorChain
from kafka_py.clients.offsets import OffsetAndMetadata

METHODS = ("on_consume", "on_commit", "close")


class ConsumerInterceptor:
    """Base of consumer interceptors; a method `configure(configs)`, if there is one, is called first."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """Returns the records for poll to return instead. Positions are not affected."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Called after these offsets were committed."""

    def close(self) -> None:
        """Called when the consumer is closed."""


class ConsumerInterceptors(InterceptorChain):
    """All interceptors of a consumer, one after the other."""

    def __init__(self, wanted: Iterable[Any], configs: Mapping[str, Any]) -> None:
        """Raises ConfigError for what is no interceptor."""
        super().__init__(make_plugin(SETTING, each, METHODS, configs) for each in wanted)

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """The records as the interceptors have changed them."""
        return self._changed("on_consume", records, lambda made: made)

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Calls on_commit of every interceptor."""
        self._tell("on_commit", offsets)
