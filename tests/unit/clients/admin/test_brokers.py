"""Admin calls on brokers: the cluster, versions, and leading away from a broker that is to stop."""

from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafka_py.wire.messages.describe_cluster import DescribeClusterRequest


@pytest.mark.parametrize("known", [True, False])
def test_the_cluster_is_described_by_brokers_of_any_age(world: Any, known: bool) -> None:
    if not known:
        world.cluster.versions[ApiKey.DESCRIBE_CLUSTER] = -1
    world.cluster.controller_id = 1
    described = world.ask(lambda admin: admin.describe_cluster())
    assert [each.id for each in described.nodes] == [0, 1]
    assert described.controller.id == 1
    assert described.authorized_operations is None
    assert bool(world.asked(DescribeClusterRequest)) is known


def test_what_a_stopping_broker_still_leads_comes_back(world: Any) -> None:
    codes = [ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.NONE]

    def answer(request: ControlledShutdownRequest) -> ControlledShutdownResponse:
        rows = [RemainingPartition(topic_name="t", partition_index=2)]
        return ControlledShutdownResponse(error_code=codes.pop(0), remaining_partitions=rows)

    world.cluster.answers[ApiKey.CONTROLLED_SHUTDOWN] = answer
    assert world.ask(lambda admin: admin.controlled_shutdown(1)) == {TopicPartition("t", 2)}
    assert codes == []


def test_versions_are_those_that_both_sides_may_know(world: Any) -> None:
    world.cluster.versions[ApiKey.FETCH] = 7
    assert world.ask(lambda admin: admin.api_versions(1))[ApiKey.FETCH] == (0, 7)
    assert world.ask(lambda admin: admin.offered_versions(0))[ApiKey.FETCH].highest == 7


def test_a_broker_that_is_not_there_cannot_be_asked(world: Any) -> None:
    with pytest.raises(KafkaError):
        world.ask(lambda admin: admin.offered_versions(9, timeout=1.0))
