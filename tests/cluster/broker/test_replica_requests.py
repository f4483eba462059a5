"""ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments and AlterIsr against a whole broker.

Codes and texts are those of Apache Kafka 2.8.2 (docs/reference/controller.md, sections 8, 10 and 13).
"""

import asyncio
from typing import Any
from unittest.mock import AsyncMock, patch

from kafka_py.base.errors import ErrorCode
from kafka_py.base.turns import Turn
from kafka_py.broker.handlers.admin import elect_leaders
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages.alter_isr import AlterIsrRequest, PartitionData, TopicData
from kafka_py.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_py.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafka_py.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafka_py.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
)


async def elect(broker: LocalBroker, kind: int, version: int = 2, **topics: list[int]) -> Any:
    """The whole answer; no topics stand for all."""
    rows = [TopicPartitions(topic=topic, partition_id=ids) for topic, ids in topics.items()]
    request = ElectLeadersRequest(topic_partitions=rows or None, timeout_ms=5000)
    if version:
        request.election_type = kind
    return await broker.ask(request, version)


def results_of(answer: Any) -> dict[tuple[str, int], tuple[int, str | None]]:
    return {
        (topic.topic, row.partition_id): (row.error_code, row.error_message)
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }


@on_broker()
async def test_elections_that_are_needless_or_of_the_unknown_say_so(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    for version in range(3):
        answer = await elect(broker, 0, version, t=[0, 9], nope=[0])
        assert answer.error_code == 0
        assert results_of(answer) == {
            ("t", 0): (ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."),
            ("t", 9): (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
            ("nope", 0): (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
        }
    assert results_of(await elect(broker, 1, t=[0]))["t", 0][0] == ErrorCode.ELECTION_NOT_NEEDED


@on_broker()
async def test_asked_for_all_partitions_those_without_need_are_left_out(broker: LocalBroker) -> None:
    await broker.create_topic("t", 2)
    for kind in (0, 1):
        assert results_of(await elect(broker, kind)) == {}


@on_broker()
async def test_all_partitions_are_gathered_in_turns(broker: LocalBroker) -> None:
    await broker.create_topic("t", 50)
    yielded = AsyncMock()
    with patch.object(Turn, "maybe_yield", yielded):
        request = ElectLeadersRequest(topic_partitions=None, timeout_ms=1000)
        assert len(await elect_leaders._asked(broker.server.node, request)) == 50
    assert yielded.await_count == 50


@on_broker()
async def test_a_kind_of_election_that_there_is_not_fails_as_a_whole(broker: LocalBroker) -> None:
    answer = await elect(broker, 7, t=[0])
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert results_of(answer)["t", 0][0] == ErrorCode.UNKNOWN_SERVER_ERROR


async def reassign(broker: LocalBroker, **targets: dict[int, list[int] | None]) -> Any:
    topics = [
        ReassignableTopic(
            name=topic,
            partitions=[ReassignablePartition(partition_index=number, replicas=ids) for number, ids in rows.items()],
        )
        for topic, rows in targets.items()
    ]
    return await broker.ask(AlterPartitionReassignmentsRequest(topics=topics), 0)


@on_broker()
async def test_every_reassignment_has_its_own_error(broker: LocalBroker) -> None:
    await broker.create_topic("t", 7)
    answer = await reassign(
        broker, t={0: [0], 1: [], 2: [0, 0], 3: [-1, 0], 4: [0, 7], 5: None, 9: [0]}, nope={0: None}
    )
    assert (answer.error_code, answer.error_message) == (0, "")
    found = {
        (topic.name, row.partition_index): (row.error_code, row.error_message)
        for topic in answer.responses
        for row in topic.partitions
    }
    bad, none = ErrorCode.INVALID_REPLICA_ASSIGNMENT, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert found == {
        ("t", 0): (0, None),
        ("t", 1): (bad, "Empty replica list specified in partition reassignment."),
        ("t", 2): (bad, "Duplicate replica ids in partition reassignment replica list: ArrayBuffer(0, 0)"),
        ("t", 3): (bad, "Invalid broker id in replica list: ArrayBuffer(-1, 0)"),
        ("t", 4): (bad, "Replica assignment has brokers that are not alive. Replica list: ArrayBuffer(7), "
                        "live broker list: Set(0)"),
        ("t", 5): (none, "No partition reassignment is in progress."),
        ("t", 9): (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist."),
        ("nope", 0): (none, "No partition reassignment is in progress."),
    }  # fmt: skip


@on_broker()
async def test_nothing_moves_so_nothing_is_listed(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    for topics in (None, [], [ListPartitionReassignmentsTopics(name="t", partition_indexes=[0, 9])]):
        answer = await broker.ask(ListPartitionReassignmentsRequest(topics=topics), 0)
        assert (answer.error_code, answer.topics) == (0, [])


@on_broker()
async def test_a_broker_that_is_not_the_controller_says_so(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.server.node.controller.shutdown()
    answer = await elect(broker, 0, t=[0])
    assert answer.error_code == 0
    assert results_of(answer) == {("t", 0): (ErrorCode.NOT_CONTROLLER, None)}
    assert (await reassign(broker, t={0: [0]})).error_code == ErrorCode.NOT_CONTROLLER
    assert (await broker.ask(ListPartitionReassignmentsRequest(), 0)).error_code == ErrorCode.NOT_CONTROLLER
    assert (await alter_isr(broker, broker.server.node.broker_epoch)).error_code == ErrorCode.NOT_CONTROLLER


async def alter_isr(broker: LocalBroker, epoch: int, isr: tuple[int, ...] = (0,), leader_epoch: int = 0) -> Any:
    row = PartitionData(partition_index=0, leader_epoch=leader_epoch, new_isr=list(isr), current_isr_version=0)
    return await broker.ask(
        AlterIsrRequest(broker_id=0, broker_epoch=epoch, topics=[TopicData(name="t", partitions=[row])]), 0
    )


@on_broker()
async def test_a_leader_of_a_later_protocol_may_have_its_in_sync_set_changed(broker: LocalBroker) -> None:
    """AlterIsr is answered whatever the protocol level of the controller."""
    await broker.create_topic("t")
    epoch = broker.server.node.broker_epoch
    assert (await alter_isr(broker, epoch - 1)).error_code == ErrorCode.STALE_BROKER_EPOCH
    [topic] = (await alter_isr(broker, epoch)).topics
    [row] = topic.partitions
    assert (row.error_code, row.leader_id, row.isr, row.current_isr_version) == (0, 0, [0], 0)
    [topic] = (await alter_isr(broker, epoch, leader_epoch=-1)).topics
    assert topic.partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


@on_broker()
async def test_an_update_of_the_metadata_waits_while_roles_are_being_taken(broker: LocalBroker) -> None:
    """Both are done in turns: half of one with half of the other would be a cluster that never was."""
    node = broker.server.node
    address = node.metadata.address(0, "PLAINTEXT")
    assert address is not None
    endpoint = UpdateMetadataEndpoint(port=address.port, host=address.host, listener="PLAINTEXT", security_protocol=0)
    request = UpdateMetadataRequest(
        controller_id=0,
        controller_epoch=node.roles.controller_epoch,
        live_brokers=[UpdateMetadataBroker(id=0, endpoints=[endpoint])],
    )
    async with node.roles.lock:
        generation = node.metadata.generation
        asking = asyncio.create_task(broker.ask(request, 7))
        await broker.until(lambda: asking.done() or node.roles.lock._waiters)  # type: ignore[attr-defined]
        assert (asking.done(), node.metadata.generation) == (False, generation)
    assert (await asking).error_code == ErrorCode.NONE
    assert node.metadata.generation == generation + 1
