"""Code of the application's that sees records before it gets them, and offsets once they are committed.

`interceptor.classes` names classes, or holds classes or objects; they are called in that order. What one of them
raises is logged and otherwise as if it were not there. Source: KIP-42.
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
    """Base of consumer interceptors; `configure(configs)` is called first where there is one."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """What poll returns instead of `records`. The position does not change with it."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These offsets were committed."""

    def close(self) -> None:
        """The consumer is closed."""


class Interceptors(InterceptorChain):
    """All interceptors of a consumer, one after the other."""

    def __init__(self, wanted: Iterable[Any], configs: Mapping[str, Any]) -> None:
        """Raises ConfigError for what is no interceptor."""
        super().__init__(make_plugin(SETTING, each, METHODS, configs) for each in wanted)

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """The records as all of them leave them."""
        return self._changed("on_consume", records, lambda made: made)

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Tells all of them."""
        self._tell("on_commit", offsets)
