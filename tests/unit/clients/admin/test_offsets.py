"""Offsets of partitions: of their leaders, also when these have just changed."""

from typing import Any

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.offsets import EARLIEST, LATEST
from kafka_py.testing.fakes.fake_answers import answer_list_offsets
from kafka_py.wire.apis import ApiKey
from kafka_py.wire.messages.list_offsets import ListOffsetsRequest

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_both_ends_come_from_the_leaders(world: Any) -> None:
    world.cluster.create_topic("t", 2)
    world.cluster.partitions[A].start_offset, world.cluster.partitions[B].end_offset = 3, 9
    found = world.ask(lambda admin: admin.list_offsets({A: EARLIEST, B: LATEST}, read_committed=True)).all()
    assert {tp: each.offset for tp, each in found.items()} == {A: 3, B: 9}
    asked = {node_id: request.isolation_level for node_id, request in world.asked(ListOffsetsRequest)}
    assert asked == {0: 1, 1: 1}


def test_a_partition_whose_leader_has_changed_is_asked_for_again(world: Any) -> None:
    world.cluster.create_topic("t", 2)

    def move_first(request: ListOffsetsRequest) -> Any:
        node_id = world.asked(ListOffsetsRequest)[-1][0]
        world.cluster.move_leader("t", 0, 1)
        return answer_list_offsets(world.cluster, node_id, request, ErrorCode.NONE)

    world.cluster.answers[ApiKey.LIST_OFFSETS] = move_first
    assert world.ask(lambda admin: admin.list_offsets({A: LATEST})).all()[A].offset == 0
    assert [node_id for node_id, _ in world.asked(ListOffsetsRequest)] == [0, 1]


def test_a_topic_that_does_not_exist_is_an_error_and_is_not_created(world: Any) -> None:
    world.cluster.auto_create_partitions = 1
    results = world.ask(lambda admin: admin.list_offsets({A: LATEST}))
    assert results.errors()[A].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
