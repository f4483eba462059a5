"""The APIs of group membership against a whole broker: every version, rights, and groups that outlive the broker."""

import asyncio
from typing import Any, cast

from kafka_py.base.errors import ErrorCode
from kafka_py.security.acls.authorization import AllowAll, Asker
from kafka_py.security.acls.vocabulary import Operation, ResourceType
from kafka_py.testing.local_broker import LocalBroker, on_broker
from kafka_py.wire.messages.delete_groups import DeleteGroupsRequest
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_py.wire.messages.list_groups import ListGroupsRequest
from kafka_py.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

ONE_BROKER = {
    "offsets_topic_replication_factor": 1,
    "offsets_topic_num_partitions": 3,
    "group_initial_rebalance_delay_ms": 0,
}
NONE = ErrorCode.NONE


async def coordinated(broker: LocalBroker, group: str = "g") -> None:
    """The broker coordinates the group from now on."""
    find = FindCoordinatorRequest(key=group)
    async with asyncio.timeout(20):
        while (await broker.ask(find, 3)).error_code != NONE:  # noqa: ASYNC110  # as a client finds out
            await asyncio.sleep(0.01)
    runtime = broker.server.node.coordinators.groups.runtime
    await broker.until(lambda: runtime.partition_for(group) in runtime.owned)


async def join(broker: LocalBroker, version: int = 7, member_id: str = "", group: str = "g", **fields: Any) -> Any:
    """The answer; on MEMBER_ID_REQUIRED joins again with the id."""
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"topics")],
        **fields,
    )
    if version >= 1:
        request.rebalance_timeout_ms = 20_000
    answer = await broker.ask(request, version)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        return await join(broker, version, answer.member_id, group, **fields)
    return answer


async def sync(broker: LocalBroker, joined: Any, version: int = 5, group: str = "g", **fields: Any) -> Any:
    if version >= 5:
        fields = {"protocol_type": "consumer", "protocol_name": "range", **fields}
    request = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"work")],
        **fields,
    )
    return await broker.ask(request, version)


async def stable(broker: LocalBroker, group: str = "g", **fields: Any) -> Any:
    """The answer to the join of the one member of a stable group."""
    await coordinated(broker, group)
    joined = await join(broker, group=group, **fields)
    instance = {"group_instance_id": fields["group_instance_id"]} if fields else {}
    assert (await sync(broker, joined, group=group, **instance)).error_code == NONE
    return joined


async def describe(broker: LocalBroker, *groups: str, version: int = 5, **fields: Any) -> Any:
    return (await broker.ask(DescribeGroupsRequest(groups=list(groups), **fields), version)).groups


@on_broker(**ONE_BROKER)
async def test_a_group_lives_in_every_version(broker: LocalBroker) -> None:
    """W7.17: join, sync, heartbeat; here with each version of each request."""
    for version in range(8):
        group = f"g{version}"
        await coordinated(broker, group)
        joined = await join(broker, version, group=group)
        assert joined.error_code == NONE
        assert (joined.generation_id, joined.protocol_name, joined.leader) == (1, "range", joined.member_id)
        assert joined.protocol_type == ("consumer" if version >= 7 else None)
        assert [(member.member_id, member.metadata) for member in joined.members] == [(joined.member_id, b"topics")]
        synced = await sync(broker, joined, min(version, 5), group=group)
        assert (synced.error_code, synced.assignment) == (NONE, b"work")
        beat = HeartbeatRequest(group_id=group, generation_id=1, member_id=joined.member_id)
        assert (await broker.ask(beat, min(version, 4))).error_code == NONE
        leave = LeaveGroupRequest(group_id=group)
        if version < 3:
            leave.member_id = joined.member_id
        else:
            leave.members = [MemberIdentity(member_id=joined.member_id)]
        answer = await broker.ask(leave, min(version, 4))
        assert answer.error_code == NONE
        assert [member.error_code for member in answer.members] == ([NONE] if version >= 3 else [])
        assert (await broker.ask(beat, min(version, 4))).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@on_broker(**ONE_BROKER)
async def test_a_member_id_is_required_from_version_4_on(broker: LocalBroker) -> None:
    """KIP-394; docs/reference/pitfalls.md, section 4."""
    await coordinated(broker)
    request = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=20_000, member_id="", protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )  # fmt: skip
    answer = await broker.ask(request, 4)
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.member_id.startswith("test-")
    assert (answer.generation_id, answer.protocol_name, answer.leader) == (-1, "", "")
    assert (await broker.ask(request, 7)).protocol_name is None


@on_broker(**ONE_BROKER)
async def test_a_single_leaver_has_the_error_of_the_whole_request(broker: LocalBroker) -> None:
    await stable(broker)
    for version in range(3):
        answer = await broker.ask(LeaveGroupRequest(group_id="g", member_id="nobody"), version)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    for version in (3, 4):
        leaver = MemberIdentity(member_id="", group_instance_id="nobody")
        answer = await broker.ask(LeaveGroupRequest(group_id="g", members=[leaver]), version)
        assert answer.error_code == NONE
        (member,) = answer.members
        assert (member.member_id, member.group_instance_id) == ("", "nobody")
        assert member.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@on_broker(**ONE_BROKER)
async def test_sync_must_say_type_and_name_from_version_5_on(broker: LocalBroker) -> None:
    """KIP-559."""
    joined = await stable(broker)
    for missing in ("protocol_type", "protocol_name"):
        answer = await sync(broker, joined, **cast(dict[str, Any], {missing: None}))
        assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    answer = await sync(broker, joined, protocol_name="own")
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (await sync(broker, joined, 4)).error_code == NONE


@on_broker(**ONE_BROKER)
async def test_groups_are_described_and_listed_in_every_version(broker: LocalBroker) -> None:
    joined = await stable(broker, group_instance_id="i")
    for version in range(6):
        found, unknown = await describe(broker, "g", "nobody's", version=version)
        assert (found.error_code, found.group_state, found.protocol_type) == (NONE, "Stable", "consumer")
        assert (found.protocol_data, unknown.group_state, unknown.error_code) == ("range", "Dead", NONE)
        (member,) = found.members
        assert (member.member_id, member.client_id, member.client_host) == (joined.member_id, "test", "/127.0.0.1")
        assert (member.member_metadata, member.member_assignment) == (b"topics", b"work")
        assert member.group_instance_id == ("i" if version >= 4 else None)
        listed = await broker.ask(ListGroupsRequest(), min(version, 4))
        assert listed.error_code == NONE
        states = "Stable" if version >= 4 else ""
        assert [(row.group_id, row.protocol_type, row.group_state) for row in listed.groups] == [
            ("g", "consumer", states)
        ]
    assert (await broker.ask(ListGroupsRequest(states_filter=["Empty"]), 4)).groups == []
    assert len((await broker.ask(ListGroupsRequest(states_filter=["Stable", "Empty"]), 4)).groups) == 1
    (found,) = await describe(broker, "g", include_authorized_operations=True)
    assert found.authorized_operations == (1 << Operation.READ) | (1 << Operation.DELETE) | (1 << Operation.DESCRIBE)


@on_broker(**ONE_BROKER)
async def test_only_empty_groups_are_deleted(broker: LocalBroker) -> None:
    """KIP-229."""
    joined = await stable(broker)

    async def delete(version: int) -> dict[str, int]:
        answer = await broker.ask(DeleteGroupsRequest(groups_names=["g", "nobody's", "g"]), version)
        return {result.group_id: result.error_code for result in answer.results}

    not_found = ErrorCode.GROUP_ID_NOT_FOUND
    for version in range(3):
        assert await delete(version) == {"g": ErrorCode.NON_EMPTY_GROUP, "nobody's": not_found}
    leaver = MemberIdentity(member_id=joined.member_id)
    await broker.ask(LeaveGroupRequest(group_id="g", members=[leaver]), 4)
    assert await delete(2) == {"g": NONE, "nobody's": not_found}
    assert await delete(2) == {"g": not_found, "nobody's": not_found}


class _Denies(AllowAll):
    """Allows everything but some operations on groups, or on the cluster."""

    def __init__(self, *denied: tuple[Operation, ResourceType]) -> None:
        self._denied = denied

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, *_: object
    ) -> bool:
        return (operation, resource_type) not in self._denied


@on_broker(**ONE_BROKER)
async def test_groups_are_guarded(broker: LocalBroker) -> None:
    """As AclAuthorizer has it: READ to take part, DESCRIBE to look, DELETE to delete."""
    joined = await stable(broker)
    group = ResourceType.GROUP
    failed = ErrorCode.GROUP_AUTHORIZATION_FAILED
    node = broker.server.node
    node.authorizer = _Denies((Operation.READ, group))
    refused = await join(broker, member_id=joined.member_id)
    assert (refused.error_code, refused.member_id, refused.protocol_name) == (failed, "", None)
    assert (await join(broker, 6)).protocol_name == ""
    assert (await sync(broker, joined)).error_code == failed
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=joined.member_id)
    assert (await broker.ask(beat, 4)).error_code == failed
    leave = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=joined.member_id)])
    assert (await broker.ask(leave, 4)).error_code == failed
    (found,) = await describe(broker, "g", include_authorized_operations=True)
    assert found.authorized_operations == (1 << Operation.DELETE) | (1 << Operation.DESCRIBE)
    node.authorizer = _Denies((Operation.DESCRIBE, group), (Operation.DELETE, group))
    assert (await broker.ask(beat, 4)).error_code == NONE
    (found,) = await describe(broker, "g", include_authorized_operations=True)
    assert (found.error_code, found.group_state, found.members) == (failed, "", [])
    assert found.authorized_operations == -0x80000000
    answer = await broker.ask(DeleteGroupsRequest(groups_names=["g"]), 2)
    assert answer.results[0].error_code == failed
    assert len((await broker.ask(ListGroupsRequest(), 4)).groups) == 1
    node.authorizer = _Denies((Operation.DESCRIBE, group), (Operation.DESCRIBE, ResourceType.CLUSTER))
    assert (await broker.ask(ListGroupsRequest(), 4)).groups == []
    node.authorizer = _Denies((Operation.DESCRIBE, ResourceType.CLUSTER))
    assert len((await broker.ask(ListGroupsRequest(), 4)).groups) == 1


@on_broker(**ONE_BROKER, inter_broker_protocol_version="2.2")
async def test_static_members_need_brokers_that_know_them(broker: LocalBroker) -> None:
    await coordinated(broker)
    unsupported = ErrorCode.UNSUPPORTED_VERSION
    refused = await join(broker, group_instance_id="i")
    assert (refused.error_code, refused.member_id) == (unsupported, "")
    joined = await join(broker)
    assert (await sync(broker, joined, group_instance_id="i")).error_code == unsupported
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id="i")
    assert (await broker.ask(beat, 4)).error_code == unsupported


@on_broker(**ONE_BROKER)
async def test_a_group_outlives_its_broker(broker: LocalBroker) -> None:
    """Generation, members and assignments come back from the offsets topic (S3-028)."""
    joined = await stable(broker, group_instance_id="i")
    await broker.stop()
    await broker.start()
    await coordinated(broker, "somebody else")
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=joined.member_id, group_instance_id="i")
    await broker.until(lambda: not broker.server.node.coordinators.membership.is_loading)
    assert (await broker.ask(beat, 4)).error_code == NONE
    synced = await sync(broker, joined, group_instance_id="i")
    assert (synced.error_code, synced.assignment) == (NONE, b"work")
    (found,) = await describe(broker, "g")
    assert found.group_state == "Stable"
    again = await join(broker, group_instance_id="i")
    assert (again.error_code, again.generation_id, again.leader) == (NONE, 1, joined.member_id)
    assert (await broker.ask(beat, 4)).error_code == ErrorCode.FENCED_INSTANCE_ID


@on_broker(**ONE_BROKER)
async def test_what_is_counted_of_groups(broker: LocalBroker) -> None:
    """docs/reference/metrics.tsv: GroupMetadataManager, group-coordinator-metrics, the two purgatories."""
    await stable(broker)
    read = {reading.mbean: reading.attributes for reading in broker.server.registry.read()}
    manager = "kafka.coordinator.group:type=GroupMetadataManager"
    counts = {
        name: read[f"{manager},name={name}"]["Value"]
        for name in ("NumGroups", "NumGroupsStable", "NumGroupsEmpty", "NumGroupsPreparingRebalance", "NumOffsets")
    }
    assert counts == {
        "NumGroups": 1, "NumGroupsStable": 1, "NumGroupsEmpty": 0, "NumGroupsPreparingRebalance": 0, "NumOffsets": 0,
    }  # fmt: skip
    coordinator = read["kafka.server:type=group-coordinator-metrics"]
    assert coordinator["group-completed-rebalance-count"] == 1
    purgatory = "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations,delayedOperation="
    assert read[f"{purgatory}Heartbeat"]["Value"] == 1
    assert read[f"{purgatory}Rebalance"]["Value"] == 0
