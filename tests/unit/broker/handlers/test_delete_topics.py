"""DeleteTopics: which error a topic has, and which one comes first (docs/reference/controller.md, section 9)."""

import asyncio
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ZERO_UUID, TopicId
from kafka_py.broker.handlers.admin import delete_topics
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.principal import ANONYMOUS
from kafka_py.security.acls.authorization import ALLOW_ALL
from kafka_py.testing.clock import ManualClock
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

ID, OTHER = uuid.UUID(int=7), uuid.UUID(int=8)
VERSION = 6


class World:
    """A broker with the topic `t`, whose id is ID. active: whether it is the controller, at each look."""

    def __init__(self, *active: bool) -> None:
        self.deleted: list[str] = []
        self._active: Iterator[bool] = iter(active)
        self._last = True

    @property
    def is_active(self) -> bool:
        self._last = next(self._active, self._last)
        return self._last

    async def delete(self, name: str) -> None:
        self.deleted.append(name)

    def ask(self, *topics: tuple[str | None, TopicId], enabled: bool = True) -> list[tuple[str | None, TopicId, int]]:
        metadata = SimpleNamespace(
            topic_name={ID: "t"}.get, has_topic=lambda name: name == "t", partitions_of=lambda _: {0: None}
        )
        node: Any = SimpleNamespace(
            authorizer=ALLOW_ALL, clock=ManualClock(), controller=self, metadata=metadata, topics=self,
            config=SimpleNamespace(delete_topic_enable=enabled), topic_waits=None,
            quotas=ClientQuotas(BrokerConfig.parse({"zookeeper.connect": "z"})),
        )  # fmt: skip
        context: Any = SimpleNamespace(
            api=APIS[ApiKey.DELETE_TOPICS], api_version=VERSION, client_id="c",
            connection=SimpleNamespace(principal=ANONYMOUS), metrics=SimpleNamespace(count_error=lambda _: None),
        )  # fmt: skip
        states = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics]
        request = DeleteTopicsRequest(topics=states, timeout_ms=0)
        response = asyncio.run(delete_topics.handle(node, context, request))
        return [(each.name, each.topic_id, each.error_code) for each in response.responses]


def test_a_topic_is_deleted_by_name_or_by_id() -> None:
    world = World()
    assert world.ask(("t", ZERO_UUID)) == [("t", ZERO_UUID, ErrorCode.REQUEST_TIMED_OUT)]
    assert world.ask((None, ID)) == [("t", ID, ErrorCode.REQUEST_TIMED_OUT)]
    assert world.deleted == ["t", "t"]


def test_neither_name_nor_id_is_a_topic_that_nobody_may_delete() -> None:
    """As Apache Kafka 2.8.2 answers; an unknown id is UNKNOWN_TOPIC_ID."""
    assert World().ask((None, ZERO_UUID), (None, OTHER), ("u", ZERO_UUID)) == [
        (None, ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        (None, OTHER, ErrorCode.UNKNOWN_TOPIC_ID),
        ("u", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_name_and_id_together_refuse_the_whole_request() -> None:
    world = World()
    with pytest.raises(KafkaError) as refused:
        world.ask(("t", ZERO_UUID), ("t", OTHER))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert world.deleted == []


def test_without_the_controller_each_topic_has_that_error_and_its_own_id() -> None:
    assert World(False).ask(("t", OTHER), (None, ID)) == [
        ("t", OTHER, ErrorCode.NOT_CONTROLLER),
        (None, ID, ErrorCode.NOT_CONTROLLER),
    ]
    assert World().ask(("t", OTHER), enabled=False) == [("t", OTHER, ErrorCode.TOPIC_DELETION_DISABLED)]


def test_who_becomes_the_controller_meanwhile_deletes_no_topic_with_the_id_of_another() -> None:
    world = World(False, True)
    assert world.ask(("t", OTHER)) == [("t", OTHER, ErrorCode.INVALID_REQUEST)]
    assert world.deleted == []
