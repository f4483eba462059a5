"""Consumer groups of other people's clients on our coordinator, alone and mixed: join, leave, crash, pause, restart.

Every record is processed at least once whatever happens to members and broker. Members are processes of their own
(group_members.py). Sessions are as short as the broker allows so that a crash shows soon.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import confluent_kafka
import pytest
from group_members import JAVA, LIBRARIES, TIMEOUT_S, Group, Member

from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers import apache
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.wire.messages.describe_groups import DescribeGroupsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest

PARTITIONS = 4
SETTINGS = {
    "group.min.session.timeout.ms": 1000,
    "group.initial.rebalance.delay.ms": 100,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 5,
    "zookeeper.session.timeout.ms": 1000,
}
SHORT_SESSION_MS = 2000

_values = itertools.count()


@pytest.fixture(scope="module")
def cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> Iterator[KafkaCluster]:
    with kafka_cluster_factory(settings=SETTINGS) as made:
        yield made


@pytest.fixture(scope="module")
def jars() -> Callable[[], apache.Jars]:
    """Newest Java clients, looked for when the first Java member is started."""

    def find() -> apache.Jars:
        try:
            return apache.newest_clients()
        except apache.Unavailable as why:
            pytest.skip(str(why))

    return find


@pytest.fixture
def topic(cluster: KafkaCluster) -> str:
    return cluster.create_topic(partitions=PARTITIONS)


def produce(bootstrap: str, topic: str, count: int = 40) -> set[str]:
    """So many records over all partitions; their values, which no others have."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    values = [f"value-{next(_values)}" for _ in range(count)]
    failures = []
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS,
                         on_delivery=lambda error, _: failures.append(error) if error else None)  # fmt: skip
    assert producer.flush(TIMEOUT_S) == 0
    assert failures == []
    return set(values)


def state_of(bootstrap: str, group: str) -> tuple[str, dict[str, str]]:
    """The group's state, and instance id (or member id) -> member id."""
    with WireClient(bootstrap) as client:
        found = client.ask(DescribeGroupsRequest(groups=[group]), 5).groups[0]
    members = {member.group_instance_id or member.member_id: member.member_id for member in found.members}
    return found.group_state, members


def daily(*libraries: str) -> list[Any]:
    """All libraries, of which only these run every day: each case takes seconds, mostly of waiting."""
    return [pytest.param(each, marks=() if each in libraries else pytest.mark.slow) for each in LIBRARIES]


@pytest.mark.parametrize("library", daily("confluent-kafka", "aiokafka"))
def test_members_join_leave_and_crash(cluster: KafkaCluster, jars, topic: str, library: str) -> None:
    bootstrap = cluster.bootstrap_servers
    values = produce(bootstrap, topic)
    with Group(bootstrap, topic, jars=jars, session_ms=SHORT_SESSION_MS) as group:
        one = group.member(library)
        group.wait_balanced({one: 4})
        group.wait_read(values)
        two = group.member(library)
        group.wait_balanced({one: 2, two: 2})
        values |= produce(bootstrap, topic)
        group.wait_read(values)
        three = group.member(library)
        group.wait(lambda: len(one.assigned) + len(two.assigned) + len(three.assigned) == 4 and three.assigned, "three")
        two.close()
        group.wait_balanced({one: 2, three: 2})
        one.kill()
        group.wait_balanced({three: 4})
        values |= produce(bootstrap, topic)
        group.wait_read(values)
        three.close()
    assert state_of(bootstrap, group.name) == ("Empty", {})


def test_a_group_of_all_libraries_shares_its_partitions(cluster: KafkaCluster, jars, topic: str) -> None:
    """Whoever leads understands the others' subscriptions; one after the other leaves."""
    bootstrap = cluster.bootstrap_servers
    with Group(bootstrap, topic, jars=jars, session_ms=10_000) as group:
        members = [group.member(library) for library in LIBRARIES]
        group.wait_balanced(dict.fromkeys(members, 1))
        values = produce(bootstrap, topic)
        group.wait_read(values)
        assert all(member.read for member in members)
        for gone in range(1, len(members)):
            members[gone - 1].close()
            rest = members[gone:]
            group.wait(lambda rest=rest: covers(rest), "all partitions owned by the rest")
            values |= produce(bootstrap, topic)
            group.wait_read(values)
        members[-1].close()


def covers(members: list[Member]) -> bool:
    owned = [partition for member in members for partition in member.assigned]
    return sorted(owned) == list(range(PARTITIONS))


@pytest.mark.slow
def test_members_of_java_2_8_2_do_too(cluster: KafkaCluster, apache_kafka: apache.Jars, topic: str) -> None:
    test_members_join_leave_and_crash(cluster, lambda: apache_kafka, topic, JAVA)


@pytest.mark.parametrize("library", daily("kafka-python"))
def test_a_member_that_does_not_poll_loses_its_partitions(
    cluster: KafkaCluster, jars, topic: str, library: str
) -> None:
    """`max.poll.interval.ms`: it still sends heartbeats, yet it is out, and comes back when it polls again."""
    bootstrap = cluster.bootstrap_servers
    other = "confluent-kafka" if library != "confluent-kafka" else "kafka-python"
    with Group(bootstrap, topic, jars=jars, session_ms=SHORT_SESSION_MS) as group:
        slow = group.member(library, max_poll_ms=4000)
        steady = group.member(other)
        group.wait_balanced({slow: 2, steady: 2})
        slow.pause()
        group.wait_balanced({steady: 4})
        values = produce(bootstrap, topic)
        group.wait_read(values)
        slow.resume()
        group.wait_balanced({slow: 2, steady: 2})
        values |= produce(bootstrap, topic)
        group.wait_read(values)


@pytest.mark.parametrize("library", daily("confluent-kafka"))
def test_a_static_member_restarts_without_a_rebalance(cluster: KafkaCluster, jars, topic: str, library: str) -> None:
    """KIP-345: nobody else notices, and its partitions wait for it."""
    bootstrap = cluster.bootstrap_servers
    with Group(bootstrap, topic, jars=jars, session_ms=60_000) as group:
        one = group.member(library, instance="one")
        two = group.member(library, instance="two")
        group.wait_balanced({one: 2, two: 2})
        values = produce(bootstrap, topic)
        group.wait_read(values)
        before = two.events
        state, members = state_of(bootstrap, group.name)
        assert state == "Stable"
        had = set(one.assigned)
        one.kill()
        again = group.member(library, instance="one")
        group.wait_balanced({again: 2, two: 2})
        values |= produce(bootstrap, topic)
        group.wait_read(values)
        assert again.assigned == had
        assert two.events == before
        state, now = state_of(bootstrap, group.name)
        assert (state, now["two"]) == ("Stable", members["two"])
        assert now["one"] != members["one"]


@pytest.mark.parametrize(
    "libraries",
    [
        pytest.param(("confluent-kafka",) * 2, id="confluent-kafka", marks=pytest.mark.slow),
        pytest.param((JAVA,) * 2, id=JAVA, marks=pytest.mark.slow),
        pytest.param(("confluent-kafka", JAVA), id="mixed"),
    ],
)
def test_a_cooperative_rebalance_takes_only_what_moves(
    cluster: KafkaCluster, jars, topic: str, libraries: tuple[str, str]
) -> None:
    """KIP-429: the first member goes on with two partitions while the two others move."""
    bootstrap = cluster.bootstrap_servers
    values = produce(bootstrap, topic)
    with Group(bootstrap, topic, jars=jars, strategy="cooperative-sticky", session_ms=10_000) as group:
        one = group.member(libraries[0])
        group.wait_balanced({one: 4})
        two = group.member(libraries[1])
        group.wait_balanced({one: 2, two: 2})
        values |= produce(bootstrap, topic)
        group.wait_read(values)
        revoked = [line for line in one.events if line.startswith("revoked")]
        assert [len(line.split()) - 1 for line in revoked] == [2]
        two.close()
        group.wait_balanced({one: 4})
        assert [line for line in one.events if line.startswith("revoked")] == revoked


def test_a_coordinator_killed_mid_rebalance_loses_nothing(
    kafka_cluster_factory: Callable[..., KafkaCluster], jars
) -> None:
    """A round is open, for one member does not poll, when the broker is killed; the group comes together again."""
    with kafka_cluster_factory(settings=SETTINGS) as cluster:
        bootstrap = cluster.bootstrap_servers
        topic = cluster.create_topic(partitions=PARTITIONS)
        values = produce(bootstrap, topic)
        with Group(bootstrap, topic, jars=jars, session_ms=10_000) as group:
            one = group.member("confluent-kafka")
            two = group.member(JAVA)
            group.wait_balanced({one: 2, two: 2})
            group.wait_read(values)
            two.pause()
            three = group.member("aiokafka")
            group.wait(lambda: state_of(bootstrap, group.name)[0] == "PreparingRebalance", "preparing")
            [broker] = cluster.brokers
            broker.kill()
            broker.start()
            two.resume()
            group.wait(lambda: covers([one, two, three]) and three.assigned, "balanced again")
            values |= produce(bootstrap, topic)
            group.wait_read(values)
            group.wait(lambda: state_of(bootstrap, group.name)[0] == "Stable", "stable")


@pytest.mark.slow
def test_another_broker_takes_over_a_group(kafka_cluster_factory: Callable[..., KafkaCluster], jars) -> None:
    """The coordinator of three brokers is killed for good: the new one knows generation, members and offsets."""
    settings = {**SETTINGS, "offsets.topic.replication.factor": 3, "default.replication.factor": 3}
    with kafka_cluster_factory(brokers=3, settings=settings) as cluster:
        topic = cluster.create_topic(partitions=PARTITIONS, replication_factor=3)
        values = produce(cluster.bootstrap_servers, topic)
        with Group(cluster.bootstrap_servers, topic, jars=jars, session_ms=30_000) as group:
            one, two = group.member("confluent-kafka"), group.member(JAVA)
            group.wait_balanced({one: 2, two: 2})
            group.wait_read(values)
            with WireClient(cluster.brokers[0].bootstrap) as client:
                coordinator = client.ask(FindCoordinatorRequest(key=group.name), 3).node_id
            cluster.brokers[coordinator].kill()
            alive = ",".join(broker.bootstrap for broker in cluster.brokers if broker.running)
            values |= produce(alive, topic)
            group.wait_read(values)
            group.wait(lambda: covers([one, two]), "all partitions owned")
            three = group.member("kafka-python", bootstrap=alive)
            group.wait(lambda: covers([one, two, three]) and three.assigned, "balanced over three")
            values |= produce(alive, topic)
            group.wait_read(values)
