"""What a member does with its coordinator's answers. Whole groups play in tests/cluster and tests/compat."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.consumer.group import NO_GENERATION, State
from kafka_py.testing.fakes.scripted_group import HANG, Played
from kafka_py.wire.messages.heartbeat import HeartbeatRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafka_py.wire.messages.leave_group import LeaveGroupRequest
from kafka_py.wire.messages.sync_group import SyncGroupRequest

Scenario = Callable[[Played], Coroutine[Any, Any, None]]


def played(**settings: object) -> Callable[[Scenario], Callable[[], None]]:
    """Runs a coroutine function with a member of a scripted group."""

    def decorate(scenario: Scenario) -> Callable[[], None]:
        async def run() -> None:
            play = Played(**settings)
            try:
                await scenario(play)
            finally:
                await play.member.close()

        def test() -> None:
            asyncio.run(run())

        test.__name__, test.__doc__ = scenario.__name__, scenario.__doc__
        return test

    return decorate


@played()
async def test_w7_17_join_then_sync_then_heartbeats(play: Played) -> None:
    """W7.17, from the join on."""
    await play.join()
    assert play.member.stable_generation == (1, "m-1", "range")
    await play.until(lambda: len(play.coordinator.of(HeartbeatRequest)) >= 2)
    kinds = [type(each) for each in play.coordinator.asked[:3]]
    assert kinds == [JoinGroupRequest, SyncGroupRequest, HeartbeatRequest]
    beat = play.coordinator.of(HeartbeatRequest)[0]
    assert (beat.generation_id, beat.member_id) == (1, "m-1")
    assert (play.metrics.joins, play.metrics.syncs, play.metrics.rebalances) == (1, 1, 1)


@played()
async def test_kip_394_the_member_id_comes_first(play: Played) -> None:
    play.script(JoinGroupRequest, ErrorCode.MEMBER_ID_REQUIRED)
    await play.join()
    assert [each.member_id for each in play.coordinator.of(JoinGroupRequest)] == ["", "m-1"]


@pytest.mark.parametrize(
    "trouble",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.REBALANCE_IN_PROGRESS,
        KafkaError(ErrorCode.NETWORK_EXCEPTION, "cut"),
        KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "nobody"),
    ],
)
@pytest.mark.parametrize("where", [JoinGroupRequest, SyncGroupRequest])
def test_passing_trouble_is_joined_through(where: type, trouble: Any) -> None:
    @played()
    async def scenario(play: Played) -> None:
        play.script(where, trouble, trouble)
        await play.join()
        assert len(play.coordinator.of(JoinGroupRequest)) == 3
        assert play.member.state is State.STABLE

    scenario()


@pytest.mark.parametrize("trouble", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
@pytest.mark.parametrize("where", [JoinGroupRequest, SyncGroupRequest])
def test_a_member_that_is_not_known_any_more_begins_anew(where: type, trouble: ErrorCode) -> None:
    """Partitions have to be given up as lost before, so poll is told."""

    @played()
    async def scenario(play: Played) -> None:
        await play.join()
        play.member.note_prepared(True)
        play.script(where, trouble)
        play.member.join()
        await play.until(lambda: play.member.needs_attention)
        assert play.member.take_joined() is None
        assert play.member.generation == NO_GENERATION
        assert play.member.rejoin_needed
        assert not play.member.prepared
        await play.join()
        assert play.coordinator.of(JoinGroupRequest)[-1].member_id == ""

    scenario()


@pytest.mark.parametrize(
    "trouble",
    [
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.FENCED_INSTANCE_ID,
    ],
)
def test_what_no_other_attempt_will_mend_is_raised(trouble: ErrorCode) -> None:
    @played()
    async def scenario(play: Played) -> None:
        play.script(JoinGroupRequest, trouble)
        play.member.join()
        await play.until(lambda: play.member.needs_attention)
        with pytest.raises(KafkaError, match=trouble.name):
            play.member.take_joined()
        assert play.member.rejoin_needed  # by the next poll
        await play.join()

    scenario()


@played()
async def test_a_group_of_another_kind_is_refused(play: Played) -> None:
    play.script(JoinGroupRequest, JoinGroupResponse(
        error_code=0, generation_id=1, protocol_type="connect", protocol_name="x", leader="", member_id="m", members=[]
    ))  # fmt: skip
    play.member.join()
    await play.until(lambda: play.member.needs_attention)
    with pytest.raises(KafkaError, match="has protocol type connect"):
        play.member.take_joined()


@played()
async def test_s4_025_a_heartbeat_tells_of_a_rebalance(play: Played) -> None:
    """S4-025"""
    await play.join()
    play.script(HeartbeatRequest, ErrorCode.REBALANCE_IN_PROGRESS)
    await play.until(lambda: play.member.rejoin_needed)
    assert play.member.stable_generation is not None  # offsets may still be committed
    assert play.news
    await play.join()
    assert play.coordinator.of(JoinGroupRequest)[-1].member_id == "m-1"


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
def test_a_heartbeat_tells_that_the_group_went_on_without_us(code: ErrorCode) -> None:
    @played()
    async def scenario(play: Played) -> None:
        await play.join()
        play.script(HeartbeatRequest, code)
        await play.until(lambda: play.member.rejoin_needed)
        assert play.member.generation == NO_GENERATION
        assert play.member.stable_generation is None

    scenario()


@played(group_instance_id="i")
async def test_kip_345_a_fenced_instance_ends_with_an_error(play: Played) -> None:
    await play.join()
    play.script(HeartbeatRequest, ErrorCode.FENCED_INSTANCE_ID)
    await play.until(lambda: play.member.needs_attention)
    with pytest.raises(KafkaError, match="FENCED_INSTANCE_ID"):
        play.member.raise_failure()


@played()
async def test_heartbeats_go_on_through_passing_trouble(play: Played) -> None:
    await play.join()
    play.script(
        HeartbeatRequest, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE,
        KafkaError(ErrorCode.NETWORK_EXCEPTION, "cut"), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    )  # fmt: skip
    await play.until(lambda: len(play.coordinator.of(HeartbeatRequest)) >= 6)
    assert play.member.stable_generation is not None


@played(session_timeout_ms=40)
async def test_a_coordinator_that_is_silent_is_looked_for_again(play: Played) -> None:
    await play.join()
    play.script(HeartbeatRequest, *[HANG] * 3)
    await play.until(lambda: play.coordinator.hung_up)
    await play.until(lambda: not play.coordinator.script[HeartbeatRequest])


@played(max_poll_interval_ms=30)
async def test_kip_62_who_does_not_poll_leaves(play: Played) -> None:
    await play.join()
    play.member.note_poll()
    await play.until(lambda: play.coordinator.of(LeaveGroupRequest))
    [goodbye] = play.coordinator.of(LeaveGroupRequest)
    assert [each.member_id for each in goodbye.members] == ["m-1"]
    assert play.member.rejoin_needed
    assert play.member.generation == NO_GENERATION


@played(max_poll_interval_ms=30)
async def test_who_waits_in_poll_does_not_leave(play: Played) -> None:
    await play.join()
    play.member.enter_poll()
    beats = len(play.coordinator.of(HeartbeatRequest))
    await play.until(lambda: len(play.coordinator.of(HeartbeatRequest)) >= beats + 15)
    assert play.coordinator.of(LeaveGroupRequest) == []


@played()
async def test_leaving_in_the_midst_of_a_join_does_not_wait_for_it(play: Played) -> None:
    play.script(JoinGroupRequest, ErrorCode.MEMBER_ID_REQUIRED, HANG)
    play.member.join()
    await play.until(lambda: len(play.coordinator.of(JoinGroupRequest)) == 2)
    await play.member.leave("the test ends")
    assert play.coordinator.hung_up == 1
    [goodbye] = play.coordinator.of(LeaveGroupRequest)
    assert [each.member_id for each in goodbye.members] == ["m-1"]


@played(group_instance_id="i")
async def test_kip_345_static_members_do_not_say_goodbye(play: Played) -> None:
    await play.join()
    await play.member.leave("the test ends")
    assert play.coordinator.of(LeaveGroupRequest) == []


@played()
async def test_leaving_never_fails(play: Played) -> None:
    for trouble in (ErrorCode.UNKNOWN_MEMBER_ID, KafkaError(ErrorCode.NETWORK_EXCEPTION, "cut"), HANG):
        await play.join()
        play.script(LeaveGroupRequest, trouble)
        await play.member.leave("the test ends", 20)
        assert play.member.generation == NO_GENERATION
