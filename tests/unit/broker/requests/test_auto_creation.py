"""Automatic creation of topics: what comes of each exception."""

import asyncio
from typing import cast

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.broker.requests.auto_creation import AutoCreation
from kafka_py.broker.requests.topic_admin import TopicAdmin
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.zk.session import ConnectionLoss


class FailingAdmin:
    def __init__(self, failure: Exception | None) -> None:
        self.failure = failure

    async def create(self, new: object, permit: object = None) -> None:
        if self.failure is not None:
            raise self.failure


def config() -> BrokerConfig:
    return cast(BrokerConfig, None)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (None, ErrorCode.LEADER_NOT_AVAILABLE),
        (KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS), ErrorCode.LEADER_NOT_AVAILABLE),
        (KafkaError(ErrorCode.REQUEST_TIMED_OUT), ErrorCode.LEADER_NOT_AVAILABLE),
        (KafkaError(ErrorCode.POLICY_VIOLATION), ErrorCode.POLICY_VIOLATION),
        (ConnectionLoss(), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ZeroDivisionError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_every_exception_becomes_the_error_of_its_topic_and_the_topic_can_be_created_later(
    failure: Exception | None, code: ErrorCode
) -> None:
    admin = FailingAdmin(failure)
    auto_creation = AutoCreation(cast(TopicAdmin, admin), config)

    async def scenario() -> None:
        assert await auto_creation.create("t") is code
        admin.failure = None
        assert await auto_creation.create("t") is ErrorCode.LEADER_NOT_AVAILABLE

    asyncio.run(scenario())
