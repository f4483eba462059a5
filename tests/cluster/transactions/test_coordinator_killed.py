"""A coordinator is killed between the decision and its completion: the next one completes what was decided."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import confluent_kafka
from transactional_load import TIMEOUT_S, read_committed

from kafka_py.coordinator.transactions.records import TransactionValueReader
from kafka_py.coordinator.transactions.states import COMPLETE_COMMIT, EMPTY, ONGOING, PREPARE_COMMIT, TransactionState
from kafka_py.testing.broker import AnyBroker
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.peers.wire_client import WireClient
from kafka_py.testing.processes import wait_until
from kafka_py.testing.topics import ask_metadata
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest

ID = "tx"
PARTITIONS = 3
NOBODY = -1
SETTINGS = {
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
}


def coordinator_of(bootstrap: str) -> int:
    """The broker that coordinates ID, as this one says; NOBODY if there is none now."""
    with WireClient(bootstrap) as client:
        found = client.ask(FindCoordinatorRequest(key=ID, key_type=1), 3)
    return NOBODY if found.error_code else int(found.node_id)


def leaders_of(bootstrap: str, topic: str) -> dict[int, int]:
    """The leader of each partition, as this broker says."""
    [known] = ask_metadata(bootstrap, [topic]).topics
    return {partition.partition_index: partition.leader_id for partition in known.partitions}


def states_of(bootstrap: str) -> list[TransactionState]:
    """The states of ID in the order in which they were written."""
    consumer = confluent_kafka.Consumer({
        "bootstrap.servers": bootstrap, "group.id": "states", "log_level": 0, "enable.partition.eof": True,
        "enable.auto.commit": False,
    })  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition("__transaction_state", 0, 0)])
    reader, states = TransactionValueReader(), []
    while (message := consumer.poll(TIMEOUT_S)) is not None and not message.error():
        states.append(reader.read(message.value()).state)
    assert message is not None, states
    assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
    consumer.close()
    return states


def open_transaction(cluster: KafkaCluster, topic: str, partitions: Iterable[int]) -> confluent_kafka.Producer:
    """A producer with a record in each of these partitions in an open transaction."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": ID, "log_level": 0}
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for partition in partitions:
        producer.produce(topic, f"value {partition}", partition=partition)
    assert producer.flush(TIMEOUT_S) == 0
    return producer


def test_a_commit_that_was_acknowledged_is_completed_by_the_next_coordinator(
    kafka_cluster_factory: Callable[..., KafkaCluster],
) -> None:
    """One partition has no leader when the commit is decided, so its marker cannot be written."""
    with kafka_cluster_factory(brokers=3, settings=SETTINGS) as cluster:
        brokers: dict[int, AnyBroker] = {broker.broker_id: broker for broker in cluster.brokers}
        topic = cluster.create_topic(partitions=PARTITIONS, replication_factor=1)
        wait_until(lambda: coordinator_of(brokers[0].bootstrap) != NOBODY, TIMEOUT_S, "a coordinator")
        first = coordinator_of(brokers[0].bootstrap)
        leaders = leaders_of(brokers[0].bootstrap, topic)
        others = {number: leader for number, leader in leaders.items() if leader != first}
        producer = open_transaction(cluster, topic, others)
        lost, leader = next(iter(others.items()))
        [third] = brokers.keys() - {first, leader}
        brokers[leader].kill()
        for living in (first, third):
            wait_until(
                lambda broker=brokers[living]: leaders_of(broker.bootstrap, topic)[lost] == NOBODY, TIMEOUT_S,
                f"partition {lost} without a leader",
            )  # fmt: skip
        producer.commit_transaction(TIMEOUT_S)
        assert coordinator_of(brokers[third].bootstrap) == first
        assert states_of(brokers[first].bootstrap) == [EMPTY, ONGOING, PREPARE_COMMIT]

        brokers[first].kill()
        wait_until(
            lambda: coordinator_of(brokers[third].bootstrap) not in (NOBODY, first), TIMEOUT_S, "another coordinator"
        )
        assert coordinator_of(brokers[third].bootstrap) == third
        brokers[leader].start()
        successor = confluent_kafka.Producer(
            {"bootstrap.servers": brokers[third].bootstrap, "transactional.id": ID, "log_level": 0}
        )
        deadline = time.monotonic() + TIMEOUT_S
        while True:  # while the first transaction is not complete, the answer is CONCURRENT_TRANSACTIONS
            try:
                successor.init_transactions(TIMEOUT_S)
                break
            except confluent_kafka.KafkaException as error:
                assert error.args[0].retriable() and time.monotonic() < deadline, error
        assert states_of(brokers[third].bootstrap) == [EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT, EMPTY]

        brokers[first].start()
        wait_until(
            lambda: NOBODY not in leaders_of(brokers[third].bootstrap, topic).values(), TIMEOUT_S, "all leaders"
        )
        values = read_committed(cluster.bootstrap_servers, topic, PARTITIONS)
        assert sorted(values) == [f"value {partition}" for partition in sorted(others)]
