"""The eight-broker scenario of the spec: brokers go, come back, and the preferred replicas lead again (S1-205..S1-210).

Brokers are numbered 0 to 7 here, as partitions are; the spec counts brokers from 1.
"""

from collections import Counter

import pytest

from kafka_py.base.ids import ElectionType
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.topics import NewTopic
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.cluster_views import leaders, live, partitions, wait_brokers, wait_in_sync, wait_seen

TOPIC = "topic1"
BROKERS = list(range(8))
ASSIGNMENT = {
    0: [0, 2, 5], 1: [1, 4, 6], 2: [2, 5, 7], 3: [3, 6, 4], 4: [4, 7, 1], 5: [5, 0, 3], 6: [6, 3, 2], 7: [7, 1, 0],
}  # fmt: skip
"""S1-205: every broker has three replicas and leads once; where leaders move is that of the spec."""


def lead_counts(cluster):
    return Counter(leaders(live(cluster)[0], TOPIC).values())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_leaders_move_away_from_stopped_brokers_and_back_by_preferred_elections():
    with KafkaCluster(8, settings={"auto.leader.rebalance.enable": False}) as cluster:
        with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
            admin.create_topics([NewTopic(TOPIC, replica_assignments=ASSIGNMENT)]).all()
        wait_in_sync(cluster, TOPIC)
        assert lead_counts(cluster) == dict.fromkeys(BROKERS, 1), "S1-205"

        down = (0, 1, 3)
        for broker in down:
            cluster.brokers[broker].stop()
        running = [id_ for id_ in BROKERS if id_ not in down]
        wait_brokers(cluster, running)
        wait_seen(cluster, TOPIC, lambda views: not {view.leader for view in views.values()} & {*down, -1}, "S1-206")
        found = leaders(live(cluster)[0], TOPIC)
        assert {number: found[number] for number in (0, 1, 3)} == {0: 2, 1: 4, 3: 6}, "S1-206"

        cluster.brokers[0].start()
        wait_brokers(cluster, sorted([0, *running]))
        wait_in_sync(cluster, TOPIC)
        assert lead_counts(cluster)[0] == 0, "S1-207: broker 1 is in sync again and leads nothing"
        assert max(lead_counts(cluster).values()) == 2, "S1-207"
        in_sync = {number for number, view in partitions(live(cluster)[0], TOPIC).items() if 0 in view.isr}
        assert in_sync == {number for number, replicas in ASSIGNMENT.items() if 0 in replicas}, "S1-207"

        with AdminClient({"bootstrap.servers": cluster.brokers[4].bootstrap}) as admin:
            elected = admin.elect_leaders(ElectionType.PREFERRED)
            failed = {partition.partition for partition, result in elected.items() if result is not None}
            assert failed == {1, 3}, "S1-208: brokers 2 and 4 are down still"
            now = leaders(live(cluster)[0], TOPIC)
            assert all(now[number] == number for number in BROKERS if number not in (1, 3)), "S1-208"
            assert set(lead_counts(cluster).values()) == {1, 2}, "S1-208"

            for broker in (1, 3):
                cluster.brokers[broker].start()
            wait_brokers(cluster, BROKERS)
            wait_in_sync(cluster, TOPIC)
            assert leaders(live(cluster)[0], TOPIC) == now, "S1-209: they lead nothing yet"

            admin.elect_leaders(ElectionType.PREFERRED).all()
        assert lead_counts(cluster) == dict.fromkeys(BROKERS, 1), "S1-210"
