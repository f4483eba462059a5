"""Random histories of a cluster, each repeatable from its seed: whatever happened, once all is well the controller
has put everything right, and its picture of the cluster is what ZooKeeper holds."""

import asyncio
import random

import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.controller.model import partition_states, replica_states
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import run_virtual
from kafka_py.wire.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_py.zk.session import SessionState, ZkError
from kafka_py.zk.topics import ReplicaAssignment, TopicAssignment

BROKERS = (1, 2, 3, 4)


class History:
    """A world to which things happen by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.world = ControllerWorld({"unclean.leader.election.enable": self.chance.choice(("true", "false"))})
        self.made = 0
        self.deleted: set[str] = set()
        self.log: list[str] = []

    async def run(self, steps: int) -> None:
        await self.world.start(*BROKERS)
        for _ in range(steps):
            step = self.chance.choice(self.STEPS)
            self.log.append(step.__name__)
            await step(self)
            await self.world.settle(self.chance.choice((0, 0, 0.001, 0.05, 1)))
            self.one_leader_per_epoch()
        await self.heal()

    def pick(self, items):
        items = sorted(items)
        return self.chance.choice(items) if items else None

    def active(self):
        return next((b.controller for b in self.world.brokers.values() if b.controller.cluster is not None), None)

    async def topics(self):
        return await (await self.world.store()).topics.names() - self.deleted

    # What may happen

    async def make_topic(self) -> None:
        self.made += 1
        replicas = {n: self.chance.sample(BROKERS, self.chance.randint(1, 3)) for n in range(self.chance.randint(1, 3))}
        store = await self.world.store()
        await store.topics.create(f"topic{self.made}", TopicAssignment.of(replicas, Chance().new_topic_id()), {})

    async def delete_topic(self) -> None:
        topic = self.pick(await self.topics())
        if topic:
            self.deleted.add(topic)
            await (await self.world.store()).topics.mark_for_deletion(topic)

    async def grow_topic(self) -> None:
        topic = self.pick(await self.topics())
        store = await self.world.store()
        found = topic and await store.topics.assignment(topic)
        if found:
            added = {len(found.partitions): ReplicaAssignment(tuple(self.chance.sample(BROKERS, 2)))}
            await store.topics.set_assignment(topic, found._replace(partitions={**found.partitions, **added}))

    async def kill(self) -> None:
        if len(self.world.brokers) > 1:
            broker = self.pick(self.world.brokers)
            self.world.down.add(broker)
            await self.world.brokers.pop(broker).session.close()

    async def start(self) -> None:
        broker = self.pick(set(BROKERS) - self.world.brokers.keys())
        if broker:
            await self.world.start(broker)

    async def expire(self) -> None:
        self.expire_one(self.pick(self.world.brokers))

    def expire_one(self, broker: int) -> None:
        session = self.world.brokers[broker].session
        if session.state in (SessionState.CONNECTED, SessionState.SUSPENDED):
            session.expire()

    async def cut(self) -> None:
        session = self.world.brokers[self.pick(self.world.brokers)].session
        if session.state is SessionState.CONNECTED:
            session.cut()

    async def mend(self) -> None:
        for broker in self.world.brokers.values():
            if broker.session.state is SessionState.SUSPENDED:
                broker.session.mend()

    async def lose_reply(self) -> None:
        self.world.brokers[self.pick(self.world.brokers)].session.lose_next_reply(self.chance.randint(1, 3))

    async def depose(self) -> None:
        store = await self.world.store()
        if await store.election.controller_id() is not None:
            try:
                await store.session.delete("/controller")
            except ZkError:
                pass

    async def change_isr(self) -> None:
        """A leader, whom its controller told enough to know the znode's version, shrinks or expands the set."""
        partition = await self.some_partition()
        if partition is None:
            return
        store = await self.world.store()
        state, row = await store.partitions.state(partition), (await store.topics.assignment(partition.topic))
        if state and row and state.leader in self.world.brokers:
            replicas = [r for r in row.partitions[partition.partition].replicas if r in self.world.brokers]
            others = [r for r in replicas if r != state.leader and self.chance.random() < 0.6]
            if await store.partitions.write_isr(partition, state._replace(isr=(state.leader, *others))) is not None:
                await store.notifications.announce_isr_changes([partition])

    async def some_partition(self):
        topic = self.pick(await self.topics())
        row = topic and await (await self.world.store()).topics.assignment(topic)
        return TopicPartition(topic, self.pick(row.partitions)) if row else None

    async def reassign(self) -> None:
        """Not where all that is left of a partition is on replicas being added: to cancel or replace drops them, as
        in 2.8."""
        partition, controller = await self.some_partition(), self.active()
        state = partition and await (await self.world.store()).partitions.state(partition)
        cluster = controller and controller.cluster
        if state and cluster and set(state.isr) & set(cluster.assignment(partition).origin):
            target = self.chance.choice((None, self.chance.sample(BROKERS, self.chance.randint(1, 3))))
            self.ask(controller.alter_reassignments({partition: target}))

    async def elect(self) -> None:
        controller = self.active()
        if controller:
            self.ask(controller.elect_leaders(None, self.chance.choice(list(ElectionType))))

    async def shut_down(self) -> None:
        controller = self.active()
        if controller:
            self.ask(controller.controlled_shutdown(self.pick(self.world.brokers), -1))

    def ask(self, call) -> None:
        async def asked():
            try:
                await call
            except KafkaError:
                pass

        self.asked = [*getattr(self, "asked", []), asyncio.ensure_future(asked())]

    STEPS = (
        make_topic, make_topic, make_topic, delete_topic, grow_topic, kill, start, start, expire, cut, mend, lose_reply,
        depose, change_isr, change_isr, change_isr, reassign, reassign, elect, shut_down,
    )  # fmt: skip

    # What must hold

    def one_leader_per_epoch(self) -> None:
        """No two brokers are ever told different leaders for one epoch of a partition."""
        leaders: dict[tuple[object, ...], int] = {}
        for told in self.world.told:
            if isinstance(told.message, LeaderAndIsrRequest):
                for topic in told.message.topic_states:
                    for state in topic.partition_states:
                        key = (topic.topic_id, state.partition_index, state.leader_epoch)
                        assert leaders.setdefault(key, state.leader) == state.leader, (topic.topic_name, key)

    async def heal(self) -> None:
        """Every broker is there and in touch, every leader has its followers in sync, and time passes."""
        await self.mend()
        for broker in set(BROKERS) - self.world.brokers.keys():
            await self.world.start(broker)
        for broker in BROKERS:
            self.expire_one(broker)  # brokers that were shutting down are back for good
            await self.world.settle(5)
        store = await self.world.store()
        for _ in range(3):
            for topic in sorted(await store.topics.names()):
                found = await store.topics.assignment(topic)
                for number, row in (found.partitions if found else {}).items():
                    partition = TopicPartition(topic, number)
                    state = await store.partitions.state(partition)
                    if state and state.leader >= 0 and set(state.isr) != set(row.replicas):
                        isr = (state.leader, *(r for r in row.replicas if r != state.leader))
                        await store.partitions.write_isr(partition, state._replace(isr=isr))
                        await store.notifications.announce_isr_changes([partition])
            await self.world.settle(10)

    async def check(self) -> None:
        store, cluster = await self.world.store(), self.world.controller.cluster
        assert cluster is not None
        assert cluster.brokers.keys() == set(BROKERS)
        assert not cluster.shutting_down
        # As in 2.8: a deletion waits for a reassignment, and that for a leader, whom a topic in deletion does not get.
        halted = [p for p in cluster.reassigning if p.topic in cluster.queued]
        stuck = {p.topic for p in halted if (led := cluster.leadership(p)) is not None and led.leader < 0}
        assert await store.topics.marked_for_deletion() == cluster.queued == stuck
        topics = await store.topics.names()
        assert topics & self.deleted == stuck
        assert topics == cluster.topics
        topics -= stuck
        assert not {partition for partition in cluster.reassigning if partition.topic in topics}
        for topic in topics:
            found = await store.topics.assignment(topic)
            assert found is not None
            assert found.topic_id == cluster.topic_ids[topic]
            for number, row in found.partitions.items():
                partition = TopicPartition(topic, number)
                assert cluster.assignment(partition) == row
                assert not row.adding
                assert not row.removing
                state = await store.partitions.state(partition)
                assert cluster.leadership(partition) == state
                assert state is not None
                if state.leader < 0 and set(state.isr).isdisjoint(row.replicas):
                    continue  # a reassignment was cancelled when all in-sync replicas were among those that it drops
                assert state.leader in state.isr
                assert set(state.isr) == set(row.replicas)
                assert cluster.partition_state(partition) is partition_states.ONLINE
        replicas = [replica for replica in cluster.replicas() if replica.topic in topics]
        assert {cluster.replica_state(replica) for replica in replicas} <= {replica_states.ONLINE}
        assert await store.notifications.isr_changes() == []
        assert await store.admin.reassignments() is None


@pytest.mark.parametrize("seed", range(24))
def test_everything_is_put_right_in_the_end(seed):
    async def run():
        history = History(seed)
        await history.run(60)
        try:
            await history.check()
        except AssertionError:
            print("steps:", history.log)
            raise

    run_virtual(run())
