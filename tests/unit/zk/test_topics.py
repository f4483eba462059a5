"""Assignments, creation and deletion of topics."""

import asyncio
import uuid

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.base.steps import to_end
from kafka_py.testing.zookeeper import on_fake
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.partitions import LeaderAndIsr
from kafka_py.zk.schema import MalformedZNode
from kafka_py.zk.session import EventType, NoNode, SetOp
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment, TopicIdentity

ID = uuid.UUID(int=77)


@on_fake
async def test_a_new_topic_has_its_configs_first_and_no_notification(store, zk):
    """/config/topics/<t>, even when the config map is empty, is there when /brokers/topics/<t> appears."""
    await store.brokers.ensure_top_level_paths()
    await store.topics.create("t", TopicAssignment.of({0: [1, 2], 1: [2, 1]}))
    await store.topics.create("u", TopicAssignment.of({0: [1]}, ID), {"cleanup.policy": "compact"})
    tree = zk.tree()
    assert tree["/config/topics/t"] == b'{"version":1,"config":{}}'
    assert tree["/config/topics/u"] == b'{"version":1,"config":{"cleanup.policy":"compact"}}'
    assert tree["/brokers/topics/t"] == (
        b'{"partitions":{"0":[1,2],"1":[2,1]},"removing_replicas":{},"adding_replicas":{},"version":3}'
    )
    assert b'"topic_id":"AAAAAAAAAAAAAAAAAAAATQ"' in tree["/brokers/topics/u"]
    assert await store.session.children("/config/changes") == []
    config, topic = await store.session.exists("/config/topics/t"), await store.session.exists("/brokers/topics/t")
    assert config.czxid <= topic.czxid


@on_fake
async def test_a_topic_that_exists_is_refused(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.topics.create("t", TopicAssignment.of({0: [1]}), {"segment.bytes": "5000"})
    with pytest.raises(KafkaError) as refused:
        await store.topics.create("t", TopicAssignment.of({0: [2]}), {"segment.bytes": "6000"})
    assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert await store.topics.assignment("t") == TopicAssignment.of({0: [1]})
    assert await store.configs.of_topic("t") == {"segment.bytes": "5000"}


@on_fake
async def test_whether_a_topic_has_its_first_id_is_known(store, zk):
    """Whoever rewrites a topic could have dropped its id, and the controller have made another one."""
    await store.brokers.ensure_top_level_paths()
    assert await store.topics.identity("t") is None
    await store.topics.create("t", TopicAssignment.of({0: [1]}, ID))
    assert await store.topics.identity("t") == TopicIdentity(ID, is_original=True)
    await store.topics.set_assignment("t", TopicAssignment.of({0: [2]}, ID))
    assert await store.topics.identity("t") == TopicIdentity(ID, is_original=False)


@on_fake
async def test_of_two_creations_at_once_the_first_keeps_its_configs(store, zk):
    await store.brokers.ensure_top_level_paths()
    other = zk.session()
    await other.connect()
    wanted = [(store, "5000"), (ZkStore(other), "6000")]
    outcomes = await asyncio.gather(
        *(one.topics.create("t", TopicAssignment.of({0: [1]}), {"segment.bytes": size}) for one, size in wanted),
        return_exceptions=True,
    )
    assert outcomes[0] is None
    assert isinstance(outcomes[1], KafkaError)
    assert await store.configs.of_topic("t") == {"segment.bytes": "5000"}


@on_fake
async def test_a_topic_takes_configs_that_were_left_there(store, zk):
    """By a deletion that was interrupted, or written beforehand; and creation works without the top-level paths."""
    await store.znodes.create_recursive("/config/topics/t", b'{"version":1,"config":{"segment.bytes":"1"}}')
    await store.topics.create("t", TopicAssignment.of({0: [1]}), {"retention.ms": "7"})
    assert await store.configs.of_topic("t") == {"retention.ms": "7"}
    assert await store.topics.names() == {"t"}
    await store.topics.create("u", TopicAssignment.of({0: [1]}))
    assert await store.topics.names() == {"t", "u"}


@on_fake
async def test_a_creation_whose_answer_was_lost_has_succeeded(store, zk):
    await store.brokers.ensure_top_level_paths()
    store.session.lose_next_reply()
    await store.topics.create("t", TopicAssignment.of({0: [1]}, ID))
    assert await store.topics.assignment("t") == TopicAssignment.of({0: [1]}, ID)


@on_fake
async def test_a_topic_with_another_id_is_not_taken_for_our_own(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.topics.create("t", TopicAssignment.of({0: [1]}, Chance().new_topic_id()), {"segment.bytes": "5000"})
    with pytest.raises(KafkaError) as refused:
        await store.topics.create("t", TopicAssignment.of({0: [1]}, ID), {"segment.bytes": "6000"})
    assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert await store.configs.of_topic("t") == {"segment.bytes": "5000"}


@on_fake
async def test_an_edit_of_a_topic_starts_over_when_somebody_else_wrote_it(store, zk):
    epoch = await store.election.elect(1, 0)
    await store.topics.create("t", TopicAssignment.of({0: [1]}, ID))
    grown = TopicAssignment.of({0: [1], 1: [2]}, ID)
    seen = []

    def edit(present):
        seen.append(present)
        if len(seen) == 1:
            zk.apply_all(store.session.session_id, [SetOp("/brokers/topics/t", to_end(grown.encoding()))])
        return TopicAssignment({**present.partitions, 0: ReplicaAssignment((3,))}, present.topic_id)

    written = await store.topics.edit("t", edit, epoch_zk_version=epoch.epoch_zk_version)
    assert seen == [TopicAssignment.of({0: [1]}, ID), grown]
    assert await store.topics.assignment("t") == written == TopicAssignment.of({0: [3], 1: [2]}, ID)
    with pytest.raises(ControllerMoved):
        await store.topics.edit("t", lambda present: present, epoch_zk_version=epoch.epoch_zk_version + 1)
    with pytest.raises(NoNode):
        await store.topics.edit("none", lambda present: present)


@on_fake
async def test_an_edit_replaces_an_assignment_that_cannot_be_read(store, zk):
    """The edit gets an assignment without partitions, as if the topic had none."""
    await store.brokers.ensure_top_level_paths()
    await store.znodes.create_recursive("/brokers/topics/t", b"{not json")
    seen = []

    def edit(present):
        seen.append(present)
        return TopicAssignment.of({0: [1]}, ID)

    assert await store.topics.edit("t", edit) == TopicAssignment.of({0: [1]}, ID)
    assert seen == [TopicAssignment({})]
    assert await store.topics.assignment("t") == TopicAssignment.of({0: [1]}, ID)


@on_fake
async def test_topics_are_read_together_and_missing_ones_left_out(store, zk):
    await store.brokers.ensure_top_level_paths()
    for name in ("a", "b"):
        await store.topics.create(name, TopicAssignment.of({0: [1]}, ID))
    seen = []
    found = await store.topics.assignments(
        ["a", "b", "none"], lambda topic: lambda event: seen.append((topic, event.type))
    )
    assert found == {name: TopicAssignment.of({0: [1]}, ID) for name in ("a", "b")}
    assert await store.topics.names() == {"a", "b"}
    assert await store.topics.exists("a")
    assert not await store.topics.exists("none")
    assert await store.topics.partition_count("a") == 1
    assert await store.topics.partition_count("none") is None
    await store.topics.set_assignment("b", TopicAssignment.of({0: [1], 1: [2]}, ID))
    await store.session.sync("/")
    assert seen == [("b", EventType.CHANGED)]


@on_fake
async def test_a_reassignment_is_kept_in_the_topic(store, zk):
    await store.brokers.ensure_top_level_paths()
    moving = TopicAssignment({0: ReplicaAssignment((2, 1), (2,), (1,)), 1: ReplicaAssignment((1,))}, ID)
    await store.topics.create("t", moving)
    assert await store.topics.assignment("t") == moving
    assert b'"adding_replicas":{"0":[2]}' in zk.tree()["/brokers/topics/t"]


@on_fake
async def test_we4_14_and_15_a_topic_written_by_hand_may_have_gaps(store, zk):
    """Writing /brokers/topics/<topic> directly creates a topic; partition numbers need not be contiguous."""
    await store.znodes.create_recursive("/brokers/topics/t", b'{"version":1,"partitions":{"7":[1,2],"3":[2]}}')
    assert await store.topics.assignment("t") == TopicAssignment.of({7: [1, 2], 3: [2]})
    await store.session.set("/brokers/topics/t", b'{"version":1,"partitions":{"x":[1]}}')
    with pytest.raises(MalformedZNode):
        await store.topics.assignments(["t"])


@on_fake
async def test_a_fenced_assignment_needs_the_controllers_epoch(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.topics.create("t", TopicAssignment.of({0: [1]}))
    epoch = await store.election.elect(1, 0)
    await store.topics.set_assignment("t", TopicAssignment.of({0: [2]}), epoch_zk_version=epoch.epoch_zk_version)
    with pytest.raises(ControllerMoved):
        await store.topics.set_assignment("t", TopicAssignment.of({0: [3]}), epoch_zk_version=0)
    with pytest.raises(NoNode):
        await store.topics.set_assignment("none", TopicAssignment.of({}))
    assert await store.topics.assignment("t") == TopicAssignment.of({0: [2]})


@on_fake
async def test_a_deletion_is_queued_and_in_the_end_leaves_nothing(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.topics.create("t", TopicAssignment.of({0: [1]}))
    epoch = await store.election.elect(1, 0)
    states = {TopicPartition("t", 0): LeaderAndIsr(1, 0, (1,), 1)}
    await store.partitions.create_states(states, epoch.epoch_zk_version)
    assert await store.topics.partitions_with_state("t") == {0}

    seen = []
    assert await store.topics.marked_for_deletion(seen.append) == set()
    await store.topics.mark_for_deletion("t")
    await store.topics.mark_for_deletion("t")
    assert await store.topics.marked_for_deletion() == {"t"}
    assert zk.tree()["/admin/delete_topics/t"] is None
    assert len(seen) == 1

    await store.topics.delete("t", epoch.epoch_zk_version)
    assert [path for path in zk.tree() if path.endswith("/t")] == []
    await store.topics.delete("t", epoch.epoch_zk_version)


@on_fake
async def test_queue_entries_of_unknown_topics_are_taken_back(store, zk):
    await store.brokers.ensure_top_level_paths()
    epoch = await store.election.elect(1, 0)
    await store.topics.mark_for_deletion("a")
    await store.topics.unmark_for_deletion(["a", "never-there"], epoch.epoch_zk_version)
    assert await store.topics.marked_for_deletion() == set()
    await store.topics.mark_for_deletion("a")
    with pytest.raises(ControllerMoved):
        await store.topics.unmark_for_deletion(["a"], 0)
