"""Interceptors: a chain in which whoever fails is passed over."""

from collections.abc import Mapping
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients import ConsumerInterceptor, ConsumerRecords, OffsetAndMetadata
from kafka_py.clients.consumer.interceptors import ConsumerInterceptors

A = TopicPartition("t", 0)


class Notes(ConsumerInterceptor):
    """Notes what it is called with."""

    def __init__(self) -> None:
        self.configs: Mapping[str, Any] = {}
        self.heard: list[Any] = []

    def configure(self, configs: Mapping[str, Any]) -> None:
        self.configs = configs

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        self.heard.append(records)
        return ConsumerRecords()

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.heard.append(offsets)

    def close(self) -> None:
        self.heard.append("closed")


class Fails(Notes):
    """Always."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        raise ValueError("no")

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        raise ValueError("no")

    def close(self) -> None:
        raise ValueError("no")


def test_each_gets_what_the_one_before_left_and_a_failed_one_is_passed_over() -> None:
    first, last = Notes(), Notes()
    chain = ConsumerInterceptors([first, Fails, last], {"a": "b"})
    records = ConsumerRecords({A: []})
    assert chain.on_consume(records).is_empty()
    assert first.heard == [records]
    assert last.heard[0] is not records
    offsets = {A: OffsetAndMetadata(1)}
    chain.on_commit(offsets)
    chain.close()
    assert first.heard == [records, offsets, "closed"]
    assert last.heard[-2:] == [offsets, "closed"]
    assert first.configs == last.configs == {"a": "b"}


def test_none_is_none() -> None:
    assert not ConsumerInterceptors([], {})


@pytest.mark.parametrize("wanted", ["no.such.Class", object(), dict])
def test_what_is_no_interceptor_is_refused(wanted: Any) -> None:
    with pytest.raises(ConfigError, match=r"interceptor\.classes"):
        ConsumerInterceptors([wanted], {})
