"""The controller on a real ZooKeeper: elections, topics, dying brokers and expired sessions, brokers only simulated."""

import asyncio

from kafka_py.base.chance import Chance
from kafka_py.base.clock import SystemClock
from kafka_py.base.ids import TopicPartition
from kafka_py.controller.model.controller_context import PartitionAssignment
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.zk.kazoo_session import KazooSession
from kafka_py.zk.topics import TopicAssignment

T0 = TopicPartition("t", 0)


def run(scenario, zk_chroot):
    async def main():
        world = ControllerWorld(
            new_session=lambda: KazooSession(zk_chroot, create_chroot=True, session_timeout_ms=6000),
            clock=SystemClock(),
        )
        try:
            await scenario(world)
        finally:
            await world.close()

    asyncio.run(main())


async def started(world, *brokers):
    await world.start(*brokers)
    await world.until(lambda: active(world) is not None and active(world).cluster.brokers.keys() == set(brokers))


def active(world):
    found = [b.controller for b in world.brokers.values() if b.controller.is_active]
    return found[0] if len(found) == 1 else None


async def leader_becomes(world, leader, partition=T0):
    async def look():
        state = await (await world.store()).partitions.state(partition)
        return state is not None and state.leader == leader

    await world.until(look)


async def gone(world, path):
    async def look():
        return await (await world.store()).session.exists(path) is None

    await world.until(look)


def test_topics_are_made_led_elsewhere_and_deleted(zk_chroot):
    async def scenario(world):
        await started(world, 1, 2, 3)
        await world.make_topic("t", {0: [3, 1, 2]})
        await leader_becomes(world, 3)
        await world.until(lambda: all(world.told_to(broker, LeaderAndIsrRequest) for broker in (1, 2, 3)))

        await world.kill(3)
        await leader_becomes(world, 1)

        await world.start(3)
        await world.until(lambda: 3 in active(world).cluster.brokers)
        await world.delete_topic("t")
        await gone(world, "/brokers/topics/t")
        await gone(world, "/admin/delete_topics/t")

    run(scenario, zk_chroot)


def test_the_controllers_seat_passes_on(zk_chroot):
    async def scenario(world):
        await started(world, 1)  # the first to come takes the seat
        await world.start(2)
        await world.until(lambda: active(world).cluster.brokers.keys() == {1, 2})
        await world.make_topic("t", {0: [1, 2]})
        await leader_becomes(world, 1)
        await world.kill(1)
        await world.until(lambda: active(world) is not None and active(world).broker_id == 2)
        await leader_becomes(world, 2)
        assert active(world).epoch == 2

    run(scenario, zk_chroot)


def test_an_expired_session_of_the_only_broker_elects_it_again(zk_chroot):
    async def scenario(world):
        await started(world, 1)
        await world.make_topic("t", {0: [1]})
        await leader_becomes(world, 1)
        thief = KazooSession(zk_chroot, credentials=world.brokers[1].session.credentials, session_timeout_ms=6000)
        await thief.connect()
        await thief.close()  # ends the session that both held

        await world.until(lambda: active(world) is not None and active(world).epoch == 2)
        await world.until(lambda: 1 in active(world).cluster.brokers)
        await world.make_topic("u", {0: [1]})
        await leader_becomes(world, 1, TopicPartition("u", 0))

    run(scenario, zk_chroot)


def test_a_reassignment_runs_to_its_end(zk_chroot):
    async def scenario(world):
        await started(world, 1, 2)
        await world.make_topic("t", {0: [1]})
        await leader_becomes(world, 1)
        await world.until(lambda: active(world).cluster.leadership(T0) is not None)
        assert await active(world).alter_reassignments({T0: [2]}) == {T0: None}
        state = await world.state("t")
        assert await (await world.store()).partitions.write_isr(T0, state._replace(isr=(1, 2))) is not None
        await world.until(lambda: active(world).cluster.assignment(T0) == PartitionAssignment((2,)))
        await leader_becomes(world, 2)

    run(scenario, zk_chroot)


def test_three_hundred_topics_survive_a_fail_over(zk_chroot):
    async def scenario(world):
        await started(world, 1, 2)
        store = await world.store()
        await asyncio.gather(
            *(
                store.topics.create(f"t{n}", TopicAssignment.of({0: [1, 2]}, Chance().new_topic_id()), {})
                for n in range(300)
            )
        )
        await world.until(lambda: len(active(world).cluster.partitions_with_leadership()) == 300)
        await world.kill(1)
        await world.until(lambda: active(world) is not None and active(world).cluster is not None)
        await leader_becomes(world, 2, TopicPartition("t299", 0))
        await world.until(lambda: len(active(world).cluster.partitions_led_by(2)) == 300)

    run(scenario, zk_chroot)
