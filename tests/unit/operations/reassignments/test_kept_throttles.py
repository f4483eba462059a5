"""Throttles are removed when the moves that they were set for are over, and never those of another user."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.operations.reassignments.kept_throttles import (
    KeptSetting,
    KeptThrottles,
    kept_of,
    kept_text,
    no_longer_needed,
    restored,
    throttle_settings,
    with_settings,
    without,
)
from kafka_py.operations.rebalancing.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ReplicaMove,
)

T0, U0 = TopicPartition("t", 0), TopicPartition("u", 0)
OURS = KeptSetting(None, "1000")


def test_the_replicas_that_move_and_the_live_brokers_are_throttled() -> None:
    topics, brokers = throttle_settings({T0: ReplicaMove([1, 2], [3])}, 1_000, live={1, 3})
    assert topics == {"t": {LEADER_REPLICAS: "0:1,0:2", FOLLOWER_REPLICAS: "0:3"}}
    assert brokers == {broker: {LEADER_RATE: "1000", FOLLOWER_RATE: "1000"} for broker in ("1", "3")}


def test_what_was_set_before_the_first_throttle_comes_back_in_the_end() -> None:
    first = with_settings({}, {"1": {LEADER_RATE: "1000"}}, {"1": {LEADER_RATE: "77"}})
    wanted = {"1": {LEADER_RATE: "2000"}, "2": {LEADER_RATE: "2000"}}
    second = with_settings(first, wanted, {"1": {LEADER_RATE: "1000"}})
    assert first == {"1": {LEADER_RATE: KeptSetting("77", "1000")}}  # is not changed by the second
    assert second["1"] == {LEADER_RATE: KeptSetting("77", "2000", "1000")}
    assert second["2"] == {LEADER_RATE: KeptSetting(None, "2000")}
    assert restored(second, ["1", "2"], {"1": {LEADER_RATE: "2000"}, "2": {LEADER_RATE: "2000"}}) == {
        "1": {LEADER_RATE: "77"}, "2": {LEADER_RATE: None},
    }  # fmt: skip


def test_a_throttle_that_could_not_be_changed_is_still_one_of_ours() -> None:
    first = with_settings({}, {"1": {LEADER_RATE: "1000"}}, {"1": {LEADER_RATE: "77"}})
    second = with_settings(first, {"1": {LEADER_RATE: "2000"}}, {"1": {LEADER_RATE: "1000"}})
    unchanged = {"1": {LEADER_RATE: "1000"}}  # setting 2000 has failed
    assert restored(second, ["1"], unchanged) == {"1": {LEADER_RATE: "77"}}
    third = with_settings(second, {"1": {LEADER_RATE: "3000"}}, unchanged)
    assert restored(third, ["1"], {"1": {LEADER_RATE: "3000"}}) == {"1": {LEADER_RATE: "77"}}
    assert restored(third, ["1"], {"1": {LEADER_RATE: "2000"}}) == {}
    assert restored({"1": {LEADER_RATE: OURS}}, ["1"], {}) == {}  # nothing is set, so nothing is removed


def test_what_another_user_has_set_between_two_throttles_is_what_was_there_before() -> None:
    first = with_settings({}, {"1": {LEADER_RATE: "1000"}}, {})
    second = with_settings(first, {"1": {LEADER_RATE: "2000"}}, {"1": {LEADER_RATE: "55"}})
    assert second["1"][LEADER_RATE] == KeptSetting("55", "2000")


def test_a_setting_that_others_have_changed_or_removed_is_left_alone() -> None:
    kept = {"1": {LEADER_RATE: OURS, FOLLOWER_RATE: OURS}, "2": {LEADER_RATE: OURS}, "3": {LEADER_RATE: OURS}}
    found = {"1": {LEADER_RATE: "1000", FOLLOWER_RATE: "9"}, "2": {LEADER_RATE: "9"}}
    assert restored(kept, ["1", "2", "3"], found) == {"1": {LEADER_RATE: None}}


@pytest.mark.parametrize(
    ("move", "brokers"),
    [
        (PartitionReassignment([1, 2], [2], [1]), ["3"]),
        (PartitionReassignment([3], [], []), ["1", "2"]),
        (PartitionReassignment([4], [5], []), ["1", "2", "3"]),
        (PartitionReassignment([1], [2], [3]), []),
    ],
)
def test_brokers_and_topics_of_a_running_move_stay_throttled(move: PartitionReassignment, brokers: list[str]) -> None:
    settings = {LEADER_RATE: OURS}
    kept = KeptThrottles("id", {"t": {}, "u": {}}, {"1": settings, "2": settings, "3": settings})
    assert no_longer_needed(kept, {U0: move}) == (["t"], brokers)
    assert no_longer_needed(kept, {}) == (["t", "u"], ["1", "2", "3"])
    assert without(kept, ["t"], ["1", "3"]) == KeptThrottles("id", {"u": {}}, {"2": settings})


def test_what_is_kept_outlives_the_process_and_other_files_are_refused() -> None:
    kept = KeptThrottles("id", {"t": {LEADER_REPLICAS: KeptSetting("*", "0:1", "0:2")}}, {"1": {LEADER_RATE: OURS}})
    assert kept_of(kept_text(kept)) == kept and kept.is_set and not KeptThrottles("id").is_set
    no_settings = '{"version": 1, "cluster_id": "a", "topics": {"t": 1}, "brokers": {}}'
    for text in ("", "[]", "{}", '{"version": 2}', no_settings):
        with pytest.raises(ValueError):
            kept_of(text)
