"""What kafka-topics.sh reports while brokers are down: the command and the controllers on one ZooKeeper."""

from kafka_py.cli.topic_admin.topic_requests import TopicAction
from kafka_py.cli.topic_admin.topics_zookeeper import carry_out
from kafka_py.testing.fakes.controllers import ControllerWorld
from kafka_py.testing.virtual_time import run_virtual

TOPIC_CREATE = {0: [2, 0], 1: [0, 1], 2: [1, 2], 3: [2, 1]}


def test_we4_17_partitions_without_a_leader_are_reported_until_their_brokers_are_back(capsys):
    """WE4-17: with brokers 1 and 2 stopped, --unavailable-partitions lists partitions 2 and 3 of topic-create."""

    async def listed(world, report):
        await carry_out(await world.store(), TopicAction("describe", "topic-create", report=report))
        return [line.split("\t")[2] for line in capsys.readouterr().out.splitlines()]

    async def main():
        world = ControllerWorld()
        await world.start(0, 1, 2)
        await world.make_topic("topic-create", TOPIC_CREATE)
        assert await listed(world, "unavailable") == []
        await world.kill(1)
        # first half of WE4-16: what had a replica on the stopped broker
        assert await listed(world, "under_replicated") == ["Partition: 1", "Partition: 2", "Partition: 3"]
        assert await listed(world, "unavailable") == []
        await world.kill(2)
        assert await listed(world, "unavailable") == ["Partition: 2", "Partition: 3"]
        await world.start(1, 2)
        assert await listed(world, "unavailable") == []

    run_virtual(main())
