"""Groups kept in a log: what is written, what comes back when it is read, what goes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.coordinator.configs import CoordinatorOptions
from kafka_py.coordinator.groups.coordinator import Membership
from kafka_py.coordinator.groups.metadata_store import GroupStore
from kafka_py.coordinator.groups.offsets import CommittedOffset, TxnEnd
from kafka_py.coordinator.groups.rebalancing import WRITE_AGAIN_MS
from kafka_py.coordinator.groups.records import ValueVersions, group_key, offset_keys, offset_value
from kafka_py.coordinator.groups.removal import remove_group
from kafka_py.coordinator.groups.replay import GroupReplay
from kafka_py.coordinator.groups.requests import CommitRequest, Leaver
from kafka_py.coordinator.groups.states import DEAD, EMPTY, PREPARING_REBALANCE, STABLE, GroupState
from kafka_py.log.model.answers import Origin
from kafka_py.records.builder import BatchBuilder
from kafka_py.records.compression import Codec
from kafka_py.records.control import ControlType
from kafka_py.testing.fakes.groups import FakeGroupConfig
from kafka_py.testing.fakes.replicas import timers_of
from kafka_py.testing.fakes.stored_groups import GROUP, PARTITION, StoredGroups, commit
from kafka_py.testing.fakes.stored_logs import LogWorld

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
DAY_MS = 86_400_000


@pytest.fixture
def world() -> Iterator[StoredGroups]:
    made = StoredGroups()
    yield made.own()
    for task in made.tasks:
        task.close()


def refusal(store: GroupStore, group: str | None, *, may_be_empty: bool = False) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        store.check(group, may_be_empty=may_be_empty)
    return caught.value.code


# ---- who coordinates


def test_the_worked_example_falls_into_partition_20(world: StoredGroups) -> None:
    """S3-119, W7.20a: group consumerGroupId is kept in partition 20 of 50; masking instead would give 28."""
    assert world.store.runtime.partition_for(GROUP) == 20
    world.store.check(GROUP)


def test_other_partitions_are_refused(world: StoredGroups) -> None:
    assert refusal(world.store, "my-group") is ErrorCode.NOT_COORDINATOR
    assert refusal(world.store, "") is ErrorCode.INVALID_GROUP_ID
    assert refusal(world.store, None, may_be_empty=True) is ErrorCode.INVALID_GROUP_ID
    assert refusal(world.store, "", may_be_empty=True) is ErrorCode.NOT_COORDINATOR
    world.store.close()
    assert refusal(world.store, GROUP) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_while_a_partition_is_read_its_groups_wait() -> None:
    world = StoredGroups()
    assert refusal(world.store, GROUP) is ErrorCode.NOT_COORDINATOR
    world.store.runtime.elected(PARTITION, 0)
    assert refusal(world.store, GROUP) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.store.loading
    world.run()
    world.store.check(GROUP)
    assert not world.store.loading


# ---- commits


def test_a_commit_comes_back_from_the_log(world: StoredGroups) -> None:
    assert world.commit((P0, commit(5, 100, "note")), (P1, commit(6))) is ErrorCode.NONE
    group = world.reload().get(GROUP)
    assert group is not None
    assert group.state is EMPTY and group.generation == 0 and group.protocol_type is None
    assert group.offsets.committed == {
        P0: CommittedOffset(5, 2, "note", 100, -1, 0),
        P1: CommittedOffset(6, 2, "", 0, -1, 0),
    }


def test_the_batch_of_many_commits_is_built_in_steps_and_is_that_of_one_go(world: StoredGroups) -> None:
    commits = {TopicPartition(f"t{number % 7}", number): commit(number) for number in range(1000)}
    world.commit(*commits.items())
    at_once = world.records()
    built, steps = None, 0
    building = world.offsets.building(GROUP, CommitRequest(-1, "", None, commits))
    while built is None:
        try:
            next(building)
            steps += 1
        except StopIteration as end:
            built = end.value
    assert steps >= 3
    world.offsets.commit(GROUP, CommitRequest(-1, "", None, commits), lambda _: None, built)
    in_steps = world.records()[len(at_once) :]
    assert [(record.key, record.value) for record in in_steps] == [(record.key, record.value) for record in at_once]


def test_commits_are_appended_as_the_settings_say(world: StoredGroups) -> None:
    world.commit((P0, commit(5)))
    world.options = CoordinatorOptions.parse({"offsets.commit.required.acks": "1", "offsets.commit.timeout.ms": "77"})
    world.commit((P0, commit(6)))
    assert world.asked == [(20, -1, 5000), (20, 1, 77)]


def test_the_codec_of_the_settings_is_used() -> None:
    world = StoredGroups(offsets_topic_compression_codec=1).own()
    world.commit((P0, commit(5)))
    assert world.disk.data(f"{0:020}.log")[22] & 7 == Codec.GZIP
    group = world.reload().get(GROUP)
    assert group is not None and group.offsets.committed[P0].offset == 5


def test_a_commit_holds_only_when_it_is_acknowledged(world: StoredGroups) -> None:
    world.waiting = []
    assert world.commit((P0, commit(5))) is ErrorCode.REQUEST_TIMED_OUT
    group = world.store.get(GROUP)
    assert group is not None and not group.offsets.committed and group.offsets.is_pending(P0)
    world.waiting[0]()
    assert group.offsets.committed[P0].offset == 5
    assert world.offsets.committed_count == 1


def test_a_commit_that_fails_is_translated_and_forgotten(world: StoredGroups) -> None:
    world.error = ErrorCode.MESSAGE_TOO_LARGE
    assert world.commit((P0, commit(5))) is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    group = world.store.get(GROUP)
    assert group is not None and group.offsets.is_empty
    world.error = ErrorCode.REQUEST_TIMED_OUT
    assert world.persist(group) is ErrorCode.REBALANCE_IN_PROGRESS


def test_old_brokers_in_the_cluster_get_values_that_they_can_read(world: StoredGroups) -> None:
    world.versions = ValueVersions(offset=2, group=1)
    world.commit((P0, commit(5)))
    world.persist(world.stable_group())
    assert [record.value[:2] for record in world.records() if record.value] == [b"\0\2", b"\0\1"]


# ---- groups


def test_a_group_with_members_comes_back_stable(world: StoredGroups) -> None:
    assert world.persist(world.stable_group()) is ErrorCode.NONE
    group = world.reload().get(GROUP)
    assert group is not None and group.state is STABLE
    assert (group.generation, group.protocol_type, group.protocol, group.leader) == (3, "consumer", "range", "m")
    member = group.members["m"]
    assert (member.client_id, member.client_host, member.assignment) == ("client", "/127.0.0.1", b"work")
    assert (member.rebalance_timeout_ms, member.session_timeout_ms) == (60_000, 10_000)
    assert member.protocols == (("range", b"sub"),), "until it joins again it knows the chosen strategy alone"


def test_membership_hears_of_groups_that_come_and_go(world: StoredGroups) -> None:
    world.persist(world.stable_group())
    loaded: list[str] = []
    world.store = world.new_store()
    listener = SimpleNamespace(
        on_loaded=lambda group: loaded.append(group.id), on_unloaded=lambda group: loaded.append(f"not {group.id}")
    )
    world.store.attach(listener)
    world.own()
    group = world.store.get(GROUP)
    assert loaded == [GROUP]
    world.store.runtime.resigned(PARTITION, 1)
    assert world.store.get(GROUP) is None
    world.run()
    assert loaded == [GROUP, f"not {GROUP}"]
    assert group is not None and group.state is DEAD
    assert refusal(world.store, GROUP) is ErrorCode.NOT_COORDINATOR


def test_an_old_resignation_is_ignored(world: StoredGroups) -> None:
    world.store.runtime.elected(PARTITION, 5)
    world.store.runtime.resigned(PARTITION, 3)
    world.store.check(GROUP)
    world.store.runtime.resigned(PARTITION, None)
    assert refusal(world.store, GROUP) is ErrorCode.NOT_COORDINATOR


def test_a_later_election_does_not_read_the_partition_again(world: StoredGroups) -> None:
    world.commit((P0, commit(5)))
    group = world.store.get(GROUP)
    world.store.runtime.elected(PARTITION, 9)
    assert not world.tasks
    assert world.store.get(GROUP) is group


def test_a_partition_lost_while_it_is_read_is_not_taken() -> None:
    world = StoredGroups()
    world.store.runtime.elected(PARTITION, 0)
    world.store.runtime.resigned(PARTITION, 1)
    world.run()
    assert refusal(world.store, GROUP) is ErrorCode.NOT_COORDINATOR
    world.store.runtime.elected(PARTITION, 2)
    world.run()
    world.store.check(GROUP)


# ---- what goes


def test_a_removed_group_stays_away(world: StoredGroups) -> None:
    world.commit((P0, commit(5)))
    group = world.store.get_or_create(GROUP)
    world.persist(world.stable_group())
    group.become(DEAD, 0)
    world.store.bury(group, remove_group(group))
    assert world.store.get(GROUP) is None
    assert world.reload().get(GROUP) is None
    assert [record.key for record in world.records() if record.value is None] == [
        *offset_keys(GROUP, [P0]),
        group_key(GROUP),
    ]


def test_tombstones_are_not_waited_for_and_come_in_batches_of_a_sane_size(world: StoredGroups) -> None:
    rows = [(TopicPartition("t" * 200, number), commit(number)) for number in range(3000)]
    for start in range(0, 3000, 1000):
        world.commit(*rows[start : start + 1000])
    world.asked.clear()
    assert world.offsets.delete(GROUP, [row[0] for row in rows]) == [row[0] for row in rows]
    assert world.offsets.deleted_count == 3000
    assert [asked[1] for asked in world.asked] == [0, 0, 0]
    assert world.reload().get(GROUP) is None


def test_tombstones_fit_into_the_batches_that_the_topic_takes(world: StoredGroups) -> None:
    rows = [(TopicPartition("t" * 200, number), commit(number)) for number in range(20)]
    for row in rows:
        world.commit(row)
    world.disk.log.reconfigure(LogWorld({"max.message.bytes": 1000}).config)
    world.offsets.delete(GROUP, [row[0] for row in rows])
    assert world.reload().get(GROUP) is None


def test_a_group_left_with_nothing_ends_when_its_last_offset_goes(world: StoredGroups) -> None:
    """W7.20b: an expired offset leaves a tombstone; a simple consumer's group has no record of its own."""
    world.commit((P0, commit(5)), (P1, commit(6)))
    group = world.store.get_or_create(GROUP)
    world.offsets.delete(GROUP, [P0])
    assert world.store.get(GROUP) is group
    world.offsets.delete(GROUP, [P1])
    assert world.store.get(GROUP) is None and group.state is DEAD
    assert [record.key for record in world.records() if record.value is None] == offset_keys(GROUP, [P0, P1])


def test_offsets_expire_after_the_retention_time(world: StoredGroups) -> None:
    """S3-055: seven days unless offsets.retention.minutes says otherwise; the records are removed by tombstones."""
    world.commit((P0, commit(5, world.disk.clock.wall_ms())))
    world.disk.clock.advance(7 * DAY_MS - 1)
    assert list(world.offsets.remove_expired()) and world.store.get(GROUP) is not None
    world.disk.clock.advance(1)
    list(world.offsets.remove_expired())
    assert world.store.get(GROUP) is None
    assert world.offsets.expired_count == 1
    assert world.records()[-1].value is None


def test_a_group_that_somebody_is_about_to_join_is_kept(world: StoredGroups) -> None:
    group = world.store.get_or_create(GROUP)
    group.pending_members["m"] = None
    list(world.offsets.remove_expired())
    assert world.store.get(GROUP) is group
    group.pending_members.clear()
    list(world.offsets.remove_expired())
    assert world.store.get(GROUP) is None


def test_a_rebalancing_group_without_offsets_is_kept(world: StoredGroups) -> None:
    group = world.store.get_or_create(GROUP)
    group.become(PREPARING_REBALANCE, 0)
    list(world.offsets.remove_expired())
    assert world.store.get(GROUP) is group


def test_the_offsets_of_deleted_topics_go(world: StoredGroups) -> None:
    other = TopicPartition("u", 0)
    world.commit((P0, commit(5)), (other, commit(6)))
    list(world.offsets.remove_topics(["t"]))
    group = world.reload().get(GROUP)
    assert group is not None and list(group.offsets.committed) == [other]


# ---- reading what others wrote


def batch_of(*rows: tuple[bytes | None, bytes | None], **builder: Any) -> memoryview:
    made = BatchBuilder(**builder)
    for key, value in rows:
        made.append(1000, key, value)
    return memoryview(bytearray(made.build()))


def unchecked(world: StoredGroups) -> None:
    """A log that takes records which a compacted topic refuses, as broken brokers wrote them."""
    world.disk.log.reconfigure(LogWorld().config)


def test_records_that_cannot_be_read_are_left_out(world: StoredGroups, caplog: pytest.LogCaptureFixture) -> None:
    unchecked(world)
    good = offset_keys(GROUP, [P0])[0], offset_value(commit(5))
    rows = [(None, b"x"), (b"\0\7", b"x"), (good[0], b"\0\3"), (group_key("a"), b"\0\7"), (b"\0\2\xff", None), good]
    world.disk.append(batch_of(*rows), origin=Origin.COORDINATOR)
    with caplog.at_level(logging.ERROR):
        group = world.reload().get(GROUP)
    assert group is not None and group.offsets.committed[P0].offset == 5
    assert "5 records of the offsets topic were left out" in caplog.text


def test_a_damaged_batch_is_left_out(world: StoredGroups) -> None:
    world.commit((P0, commit(5)))
    size = len(world.disk.data(f"{0:020}.log"))
    world.commit((P0, commit(6)))
    world.commit((P1, commit(7)))
    with_damage = bytearray(world.disk.data(f"{0:020}.log"))
    with_damage[size + 70] ^= 1
    world.disk.log.segments[0].file().write(with_damage, 0)
    group = world.reload().get(GROUP)
    assert group is not None
    assert {where: found.offset for where, found in group.offsets.committed.items()} == {P0: 5, P1: 7}


def test_a_batch_cut_by_nonsense_ends_its_segment_alone(world: StoredGroups) -> None:
    world.commit((P0, commit(5)))
    world.disk.log.roll(0)
    world.commit((P1, commit(7)))
    segment = world.disk.log.segments[0]
    segment.file().write(b"\xff" * 40, 0)
    group = world.reload().get(GROUP)
    assert group is not None and list(group.offsets.committed) == [P1]


def test_commits_of_a_transaction_count_when_its_marker_says_so(world: StoredGroups) -> None:
    for producer_id, where in ((1, P0), (2, P1), (3, TopicPartition("t", 2))):
        row = offset_keys(GROUP, [where])[0], offset_value(commit(producer_id))
        made = batch_of(row, producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
        world.disk.append(made, origin=Origin.COORDINATOR)
    world.disk.mark(1, 0, ControlType.COMMIT)
    world.disk.mark(2, 0, ControlType.ABORT)
    group = world.reload().get(GROUP)
    assert group is not None
    assert list(group.offsets.committed) == [P0]
    assert group.offsets.is_pending(TopicPartition("t", 2))
    assert not group.offsets.is_pending(P1)


def append_marker(world: StoredGroups, store: GroupStore) -> None:
    offset = world.disk.mark(3, 0, ControlType.COMMIT).first_offset
    store.complete_txn(PARTITION, TxnEnd(3, offset, is_commit=True))


@pytest.mark.parametrize("is_read", [True, False])
def test_a_marker_that_is_appended_while_the_partition_is_loaded_counts(
    world: StoredGroups, monkeypatch: pytest.MonkeyPatch, is_read: bool
) -> None:
    """Before, or after, what reads the log has come to its end."""
    row = offset_keys(GROUP, [P0])[0], offset_value(commit(5))
    made = batch_of(row, producer_id=3, producer_epoch=0, base_sequence=0, transactional=True)
    world.disk.append(made, origin=Origin.COORDINATOR)
    store = world.store = world.new_store()
    replay = GroupReplay.finish

    def finish_late(self: GroupReplay) -> Iterator[object]:
        append_marker(world, store)
        yield from replay(self)

    if is_read:
        store.runtime.elected(PARTITION, 0)
        append_marker(world, store)
    else:
        monkeypatch.setattr(GroupReplay, "finish", finish_late)
    world.own()
    group = store.get(GROUP)
    assert group is not None
    assert group.offsets.committed[P0].offset == 5
    assert not group.offsets.is_pending(P0)


def test_markers_are_not_kept_for_partitions_that_are_not_loaded(world: StoredGroups) -> None:
    store = world.new_store()
    append_marker(world, store)
    store.runtime.elected(PARTITION, 0)
    append_marker(world, store)
    store.runtime.resigned(PARTITION, 1)
    assert store._late_markers == {}


def test_large_partitions_are_read_in_turns(world: StoredGroups) -> None:
    rows = [(TopicPartition("t", number), commit(number)) for number in range(3000)]
    world.commit(*rows)
    for start in range(3):
        world.commit(*((where, commit(start)) for where, _ in rows[:600]))
    group = world.reload().get(GROUP)
    assert group is not None and len(group.offsets.committed) == 3000
    assert group.offsets.committed[P0].offset == 2
    assert world.settled


class TestEmptyGenerations:
    """What a group is in memory is never ahead of what a fail-over would find."""

    @pytest.fixture
    def joined(self, world: StoredGroups) -> Membership:
        membership = Membership(
            world.store, world.disk.clock, timers_of(world.disk.clock), FakeGroupConfig, new_id=lambda: "x"
        )
        group = world.stable_group()
        assert world.persist(group) is ErrorCode.NONE
        return membership

    def after_a_fail_over(self, world: StoredGroups) -> tuple[GroupState, int, list[str]]:
        found = world.reload().get(GROUP)
        assert found is not None
        return found.state, found.generation, list(found.members)

    def test_a_failed_write_and_a_fail_over_bring_back_what_it_still_was(
        self, world: StoredGroups, joined: Membership
    ) -> None:
        world.error = ErrorCode.NOT_ENOUGH_REPLICAS
        assert joined.leave(GROUP, [Leaver("m")]) == [ErrorCode.NONE]
        group = world.store.get(GROUP)
        assert group is not None
        assert (group.state, group.generation) == (PREPARING_REBALANCE, 3)
        assert self.after_a_fail_over(world) == (STABLE, 3, ["m"])

    def test_the_next_attempt_is_written_and_outlives_a_fail_over(
        self, world: StoredGroups, joined: Membership
    ) -> None:
        world.error = ErrorCode.NOT_ENOUGH_REPLICAS
        joined.leave(GROUP, [Leaver("m")])
        world.error = ErrorCode.NONE
        world.disk.clock.advance(WRITE_AGAIN_MS)
        group = world.store.get(GROUP)
        assert group is not None
        assert (group.state, group.generation) == (EMPTY, 4)
        assert self.after_a_fail_over(world) == (EMPTY, 4, [])

    def test_until_it_is_acknowledged_a_fail_over_may_find_either(
        self, world: StoredGroups, joined: Membership
    ) -> None:
        world.waiting = []
        joined.leave(GROUP, [Leaver("m")])
        group = world.store.get(GROUP)
        assert group is not None
        assert (group.state, group.generation) == (PREPARING_REBALANCE, 3)
        (acknowledge,) = world.waiting
        acknowledge()
        assert (group.state, group.generation) == (EMPTY, 4)
        world.waiting = None
        assert self.after_a_fail_over(world) == (EMPTY, 4, [])
