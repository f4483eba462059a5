"""Reading, deciding and writing leaders: lost races are run again, newer controllers win, writes are fenced."""

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.controller.leaderships import Leaderships, MoveFailed
from kafka_py.controller.model.controller_context import Cluster, Leadership
from kafka_py.controller.model.elections import Elected
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.zk.access import ControllerMoved
from kafka_py.zk.session import ZkError
from kafka_py.zk.store import ZkStore
from kafka_py.zk.topics import TopicAssignment

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def run(scenario):
    async def main():
        store = ZkStore(FakeZookeeper().session())
        await store.session.connect()
        await store.brokers.ensure_top_level_paths()
        await store.topics.create("t", TopicAssignment.of({0: [1, 2], 1: [1, 2]}), {})
        office = await store.election.elect(1, 0)
        cluster = Cluster()
        await scenario(store, cluster, Leaderships(store, cluster, office.epoch, office.epoch_zk_version))

    run_virtual(main())


async def made(leaderships):
    return await leaderships.create({T0: Elected(1, (1, 2), (1, 2)), T1: Elected(2, (2, 1), (1, 2))})


def test_first_leaders_are_written_once():
    async def scenario(store, cluster, leaderships):
        assert await made(leaderships) == {T0: (1, 0, (1, 2), 1, 0), T1: (2, 0, (2, 1), 1, 0)}
        assert cluster.leadership(T0) == await store.partitions.state(T0)
        assert await made(leaderships) == {T0: (1, 0, (1, 2), 1, 0), T1: (2, 0, (2, 1), 1, 0)}  # as if a reply was lost
        again = await leaderships.create({T0: Elected(2, (1, 2), (1, 2))})
        assert isinstance(again[T0], ZkError)  # the znode was there

    run(scenario)


def test_a_lost_race_is_run_again_on_what_is_there_now():
    async def scenario(store, cluster, leaderships):
        await made(leaderships)
        seen = []

        async def decide(found):
            seen.append({partition: one.isr for partition, one in found.items()})
            if len(seen) == 1:  # meanwhile the leader of t-0 shrinks its in-sync set
                assert await store.partitions.write_isr(T0, found[T0]._replace(isr=(1,))) == 1
            return {partition: leaderships.successor(one, 2, one.isr) for partition, one in found.items()}

        outcomes = await leaderships.revise([T0, T1], decide)
        assert seen == [{T0: (1, 2), T1: (2, 1)}, {T0: (1,)}]
        assert outcomes == {T0: (2, 1, (1,), 1, 2), T1: (2, 1, (2, 1), 1, 1)}
        assert cluster.leadership(T0) == await store.partitions.state(T0)

    run(scenario)


def test_what_is_left_alone_counts_as_ours_and_is_not_written():
    async def scenario(store, cluster, leaderships):
        await made(leaderships)

        async def leave(found):
            return dict.fromkeys(found)

        outcomes = await leaderships.revise([T0], leave)
        assert outcomes == {T0: (1, 0, (1, 2), 1, 0)}
        assert (await store.partitions.state(T0)).zk_version == 0

    run(scenario)


def test_missing_states_and_those_of_a_newer_controller_fail_alone():
    async def scenario(store, cluster, leaderships):
        await made(leaderships)
        newer = Leadership(2, 3, (2,), 9, 0)
        assert (await store.partitions.write_isr(T1, newer)) == 1
        outcomes = await leaderships.bump_epochs([T0, T1, TopicPartition("t", 7)])
        assert outcomes[T0] == (1, 1, (1, 2), 1, 1)
        assert isinstance(outcomes[T1], MoveFailed)
        assert isinstance(outcomes[TopicPartition("t", 7)], MoveFailed)
        assert await store.partitions.state(T1) == newer._replace(zk_version=1)

    run(scenario)


def test_every_write_is_fenced():
    async def scenario(store, cluster, leaderships):
        await made(leaderships)
        await store.session.set("/controller_epoch", b"2")  # somebody else was elected
        with pytest.raises(ControllerMoved):
            await leaderships.bump_epochs([T0])
        with pytest.raises(ControllerMoved):
            await made(leaderships)
        assert (await store.partitions.state(T0)).leader_epoch == 0

    run(scenario)


def test_refresh_takes_over_what_leaders_wrote():
    async def scenario(store, cluster, leaderships):
        await made(leaderships)
        await store.partitions.write_isr(T0, cluster.leadership(T0)._replace(isr=(1,)))
        await leaderships.refresh([T0, TopicPartition("t", 7)])
        assert cluster.leadership(T0) == (1, 0, (1,), 1, 1)
        assert cluster.leadership(TopicPartition("t", 7)) is None

    run(scenario)
