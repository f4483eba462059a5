"""What a simulation knows beyond its brokers: each append of a leader, what was cut, which elections cost records."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.replication.state.partition import Partition
from kafka_py.testing.fakes.stored_logs import LogWorld, batch
from kafka_py.testing.simulation.history import ClusterHistory
from kafka_py.testing.simulation.invariants import check_compacted
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_py.zk.session import CreateOp, SetOp
from kafka_py.zk.znodes import PartitionStateZNode

T0 = TopicPartition("t", 0)
PATH = PartitionStateZNode.path("t", 0)


def state(leader, isr, epoch):
    return PartitionStateZNode(controller_epoch=1, leader=leader, leader_epoch=epoch, isr=isr).encode()


@pytest.fixture
def history():
    return ClusterHistory(lambda: 0.0)


@pytest.fixture
def world(history):
    world = LogWorld({"cleanup.policy": "compact"}, topic_partition=T0)
    with history.listening():
        yield world


def put(world, key, value, epoch=0):
    world.append(batch([value], key=key), epoch=epoch)
    world.log.update_high_watermark(world.log.log_end_offset)


def values(history, world):
    return [(record.offset, record.value) for record in history.lineage(world.log, world.log.log_end_offset)]


def test_every_append_of_a_leader_is_known(history, world):
    put(world, b"k", b"one")
    put(world, b"k", b"two")
    assert values(history, world) == [(0, b"one"), (1, b"two")]


def test_what_a_later_leader_has_cut_is_no_part_of_the_lineage(history, world):
    for number in range(3):
        put(world, b"k", b"old%d" % number, epoch=4)
    world.log.truncate_to(1)
    put(world, b"k", b"new", epoch=6)
    assert values(history, world) == [(0, b"old0"), (1, b"new")]


def behind():
    """A replica with three records of epoch 0, which has missed all that came later."""
    replica = LogWorld({"cleanup.policy": "compact"}, topic_partition=T0)
    for number in range(3):
        records = batch([b"old%d" % number], key=b"k", base_offset=number, leader_epoch=0)
        replica.log.append_as_follower(records, 0)
    return replica


def lead(log, epoch, records):
    """Takes the leader role and appends; alone in sync, so that they are committed."""
    partition = Partition(T0, 1, 30_000)
    partition.become_leader(
        LeaderAndIsrPartitionState(
            partition_index=0, controller_epoch=1, leader=1, leader_epoch=epoch, isr=[1], zk_version=0, replicas=[1]
        ),
        log,
        now_ms=0,
    )
    for value in records:
        partition.append(batch([value], key=b"k"), 1, 0)
    return partition


def test_what_a_leader_never_had_is_no_part_of_its_lineage(history, world):
    """The broker that led in epoch 3 had lost records of epoch 0, which the leader of epoch 5 still has."""
    lead(world.log, 0, [b"old0", b"old1", b"old2"])
    world.log.truncate_to(1)
    lead(world.log, 3, [b"missed"])
    assert values(history, world) == [(0, b"old0"), (1, b"missed")]
    replica = behind()
    lead(replica.log, 5, [b"new"])
    assert values(history, replica) == [(0, b"old0"), (1, b"old1"), (2, b"old2"), (3, b"new")]


def test_what_was_committed_is_in_the_log_of_a_later_leader_but_for_unclean_elections(history, world):
    lead(world.log, 0, [b"old0", b"old1", b"old2"])
    world.log.truncate_to(1)
    epoch_3 = lead(world.log, 3, [b"missed"])
    replica = behind()
    lead(replica.log, 5, [b"new"])
    assert history.left_out(replica.log) == []
    assert epoch_3.maybe_raise_high_watermark(0)
    assert history.left_out(world.log) == []
    assert history.left_out(replica.log) == [3]
    history.written([CreateOp(PATH, state(1, [1, 2], 3)), SetOp(PATH, state(1, [1], 3)), SetOp(PATH, state(2, [2], 5))])
    assert history.left_out(replica.log) == []


def test_what_was_committed_at_the_end_is_in_the_log_of_a_leader_that_has_appended_nothing(history, world):
    lead(world.log, 0, [b"old0", b"old1", b"old2"])
    lead(world.log, 3, [b"new"]).maybe_raise_high_watermark(0)
    assert history.left_out(world.log) == []
    assert history.left_out(behind().log) == [3]


def test_a_deleted_key_that_is_back_is_a_fault(history, world):
    """The replica has lost the tombstone, as a compaction would have removed it, but not the value before it."""
    put(world, b"k", b"value")
    put(world, b"k", None)
    put(world, b"other", b"value")
    assert check_compacted("t-0", history, world.log, world.log) == []
    replica = LogWorld({"cleanup.policy": "compact"}, topic_partition=T0).log
    for offset, key in ((0, b"k"), (2, b"other")):
        replica.append_as_follower(batch([b"value"], key=key, base_offset=offset, leader_epoch=0), 0)
    replica.update_high_watermark(3)
    returned = ["t-0: b'k' is b'value', the records that were written say None"]
    assert check_compacted("t-0", history, world.log, replica) == returned


def test_a_key_may_be_missing_after_an_unclean_election_alone(history, world):
    """Compacted away for a newer value, which a leader that never had it has cut."""
    put(world, b"k", b"value")
    put(world, b"other", b"value")
    replica = LogWorld({"cleanup.policy": "compact"}, topic_partition=T0).log
    replica.append_as_follower(batch([b"value"], key=b"other", base_offset=1, leader_epoch=0), 0)
    replica.update_high_watermark(2)
    missing = ["t-0: b'k' is None, the records that were written say b'value'"]
    assert check_compacted("t-0", history, world.log, replica) == missing
    history.written([CreateOp(PATH, state(1, [1, 2], 0)), SetOp(PATH, state(1, [1], 0)), SetOp(PATH, state(2, [2], 1))])
    assert check_compacted("t-0", history, world.log, replica) == []


def test_a_record_that_nobody_wrote_is_a_fault(history, world):
    put(world, b"k", b"value")
    replica = LogWorld({"cleanup.policy": "compact"}, topic_partition=T0).log
    replica.append_as_follower(batch([b"other"], key=b"k", base_offset=0, leader_epoch=0), 0)
    replica.update_high_watermark(1)
    assert "t-0: no producer wrote b'k' = b'other' at 0" in check_compacted("t-0", history, world.log, replica)


def test_an_election_outside_of_the_in_sync_set_is_unclean(history):
    history.written([CreateOp(PATH, state(1, [1, 2], 0))])
    history.written([SetOp(PATH, state(1, [1], 0)), SetOp(PATH, state(-1, [1], 1))])
    assert not history.had_unclean_election(T0)
    history.written([SetOp(PATH, state(2, [2], 2))])
    assert history.had_unclean_election(T0)
    assert history.isr[T0] == {2}


def test_a_topic_that_is_made_again_has_a_new_history(history):
    history.written([CreateOp(PATH, state(1, [1], 0)), SetOp(PATH, state(2, [2], 1))])
    history.written([CreateOp(PATH, state(1, [1, 2], 0))])
    assert not history.had_unclean_election(T0)


def test_who_has_led_since_a_record_was_appended(history, world):
    history.written([CreateOp(PATH, state(1, [1, 2], 0))])
    put(world, b"k", b"value")
    history.appends[T0, None][0].broker = "broker1"
    history.written([SetOp(PATH, state(-1, [1], 1)), SetOp(PATH, state(1, [1], 2))])
    assert history.leaders_since(world.log, 0) == {"broker1"}
    history.written([SetOp(PATH, state(2, [1, 2], 3))])
    assert history.leaders_since(world.log, 0) == {"broker1", "broker2"}
