"""Three assignors that Kafka does not bring along: by lot, by rack, and everything to everybody.

An assignor runs on the consumer that leads its group; all members have to list it in partition.assignment.strategy,
under a name that no other assignor has.

    python docs/examples/assignors.py localhost:9092 orders billing rack-aware rack1
"""

import random
import sys

from kafka_py.clients import Assignor, Consumer, CountingAssignor, TopicPartition


class RandomAssignor(CountingAssignor):
    """Every partition to a subscriber drawn by lot. Looks at counts only, like the built-in ones (example S3-014)."""

    name = "random"

    def assign_counts(self, counts, subscriptions):
        shares = {member: [] for member in subscriptions}
        for topic, count in counts.items():
            takers = [member for member, each in subscriptions.items() if topic in each.topics]
            for number in range(count):
                shares[random.choice(takers)].append(TopicPartition(topic, number))
        return shares


class BroadcastAssignor(CountingAssignor):
    """All partitions to all members (examples W7.10, S3-116).

    The members' commits overwrite one another: whoever restarts continues where another was (example W7.11). So each
    has to keep its offsets for itself, for instance as external_offsets.py does.
    """

    name = "broadcast"

    def assign_counts(self, counts, subscriptions):
        return {
            member: [TopicPartition(topic, number) for topic in each.topics for number in range(counts.get(topic, 0))]
            for member, each in subscriptions.items()
        }


class RackAwareAssignor(Assignor):
    """Partitions to members in the rack of their leader, evenly among these (examples W7.9, S3-115).

    A member tells its rack (`client.rack`) in its user data; the cluster's metadata has those of the brokers. A
    partition whose leader has no member in its rack goes to whoever has least.
    """

    name = "rack-aware"

    def configure(self, configs):
        self.rack = configs.get("client.rack", "")

    def subscription_user_data(self, topics):
        return self.rack.encode()

    def assign(self, cluster, subscriptions):
        racks = {member: (each.user_data or b"").decode() for member, each in subscriptions.items()}
        shares = {member: [] for member in subscriptions}
        for topic in sorted({topic for each in subscriptions.values() for topic in each.topics}):
            takers = [member for member in sorted(subscriptions) if topic in subscriptions[member].topics]
            for info in cluster.topics[topic].partitions if topic in cluster.topics else ():
                leader = cluster.nodes.get(info.leader)
                near = [member for member in takers if leader is not None and racks[member] == leader.rack]
                least = min(near or takers, key=lambda member: len(shares[member]))
                shares[least].append(info.topic_partition)
        return shares


ASSIGNORS = {each.name: each for each in (RandomAssignor, BroadcastAssignor, RackAwareAssignor)}


def main(bootstrap, topic, group, name="random", rack=""):
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.rack": rack,
        "partition.assignment.strategy": [ASSIGNORS[name]],
    }
    with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        for record in consumer:
            print(sorted(consumer.assignment()), record.value)


if __name__ == "__main__":
    main(*sys.argv[1:])
