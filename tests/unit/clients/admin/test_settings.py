"""Admin calls on settings: a broker is asked about its own, any broker about all others."""

from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.clients import AlterConfig, AlterOperation, ConfigResource, ConfigResourceType
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.alter_configs import AlterConfigsResourceResponse, AlterConfigsResponse
from kafka_py.wire.messages.describe_configs import DescribeConfigsRequest
from kafka_py.wire.messages.incremental_alter_configs import AlterConfigsResourceResponse as IncrementalResult
from kafka_py.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKERS = [ConfigResource(ConfigResourceType.BROKER, name) for name in "01"]
EVERY_BROKER = ConfigResource(ConfigResourceType.BROKER, "")


def test_each_broker_is_asked_about_itself(world: Any) -> None:
    described = world.ask(lambda admin: admin.describe_configs([*BROKERS, BROKERS[0]])).all()
    assert set(described) == set(BROKERS)
    asked = {node_id: [each.resource_name for each in request.resources]
             for node_id, request in world.asked(DescribeConfigsRequest)}  # fmt: skip
    assert asked == {0: ["0"], 1: ["1"]}


def test_all_that_is_no_single_brokers_is_asked_of_one(world: Any) -> None:
    world.ask(lambda admin: admin.describe_configs({TOPIC: ["retention.ms"], EVERY_BROKER: None})).all()
    [(_, request)] = world.asked(DescribeConfigsRequest)
    assert [each.configuration_keys for each in request.resources] == [["retention.ms"], None]


def test_single_settings_are_changed_one_by_one(world: Any) -> None:
    def answer(request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        result = IncrementalResult(error_code=0, error_message=None, resource_type=2, resource_name="t")
        return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=[result])

    world.cluster.answers[ApiKey.INCREMENTAL_ALTER_CONFIGS] = answer
    changes = [AlterConfig("a", "1"), AlterConfig("b", None, AlterOperation.DELETE)]
    world.ask(lambda admin: admin.incremental_alter_configs({TOPIC: changes}, validate_only=True)).all()
    [(_, request)] = world.asked(IncrementalAlterConfigsRequest)
    [resource] = request.resources
    assert request.validate_only
    rows = [(each.name, each.config_operation, each.value) for each in resource.configs]
    assert rows == [("a", 0, "1"), ("b", 1, None)]


def test_the_brokers_words_are_in_the_error(world: Any) -> None:
    result = AlterConfigsResourceResponse(
        error_code=ErrorCode.INVALID_CONFIG, error_message="no such value", resource_type=2, resource_name="t"
    )
    world.cluster.answers[ApiKey.ALTER_CONFIGS] = lambda _: AlterConfigsResponse(throttle_time_ms=0, responses=[result])
    error = world.ask(lambda admin: admin.alter_configs({TOPIC: {"a": "x"}})).errors()[TOPIC]
    assert (error.code, error.detail) == (ErrorCode.INVALID_CONFIG, "no such value")
