"""Other people's clients on a broker with an authorizer: they get the errors of what they may not do, and no others."""

from pathlib import Path

import pytest

from kafka_py.clients.admin.client import AdminClient
from kafka_py.security.acls.bindings import AclBinding, AclEntry, AclFilter, PatternFilter, ResourcePattern
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.testing.broker import BrokerProcess

SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}
READ_ONLY = ResourcePattern(ResourceType.TOPIC, "read-", PatternType.PREFIXED)
CLOSED_GROUP = ResourcePattern(ResourceType.GROUP, "closed")
CLOSED_ID = ResourcePattern(ResourceType.TRANSACTIONAL_ID, "closed")


def allowed(operation: Operation, who: str = "User:ANONYMOUS") -> AclEntry:
    return AclEntry(who, "*", operation, Permission.ALLOW)


def prepare(broker: BrokerProcess) -> None:
    """A topic that may be read, one that is closed, and a group and a transactional id that are for others."""
    for topic in ("read-only", "closed", "open"):
        broker.create_topic(topic, 1)
    alice = allowed(Operation.ALL, "User:alice")
    with AdminClient({"bootstrap.servers": broker.bootstrap}) as admin:
        admin.create_acls([
            AclBinding(READ_ONLY, allowed(Operation.READ)),
            AclBinding(ResourcePattern(ResourceType.TOPIC, "closed"), alice),
            AclBinding(CLOSED_GROUP, alice),
            AclBinding(CLOSED_ID, alice),
        ]).all()
        assert len(admin.describe_acls()) == 4
        only = AclFilter(PatternFilter(ResourceType.TOPIC, "read-me", PatternType.MATCH))
        assert admin.describe_acls(only) == [AclBinding(READ_ONLY, allowed(Operation.READ))]


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.timeout(200)
def test_clients_get_the_errors_of_what_they_may_not_do(zk_chroot: str, tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, zk_chroot, settings=SETTINGS) as broker:
        prepare(broker)
        with_librdkafka(broker.bootstrap)
        with_kafka_python(broker.bootstrap)


def with_librdkafka(bootstrap: str) -> None:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

    delivered: dict[str, object] = {}
    producer = Producer({"bootstrap.servers": bootstrap, "message.timeout.ms": 20_000})
    for topic in ("open", "read-only", "closed"):
        producer.produce(topic, b"v", on_delivery=lambda error, _message, topic=topic: delivered.update({topic: error}))
    producer.flush(30)
    codes = {topic: error and error.code() for topic, error in delivered.items()}  # type: ignore[attr-defined]
    denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert codes == {"open": None, "read-only": denied, "closed": denied}

    closed = Producer({"bootstrap.servers": bootstrap, "transactional.id": "closed"})
    with pytest.raises(KafkaException) as refused:
        closed.init_transactions(20)
    assert refused.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

    for group, topic, code in (
        ("mine", "closed", denied), ("closed", "open", KafkaError.GROUP_AUTHORIZATION_FAILED), ("mine", "open", None),
    ):  # fmt: skip
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        message = next(filter(None, (consumer.poll(1) for _ in range(30))))
        assert (message.error() and message.error().code()) == code, (group, topic)
        consumer.close()


def with_kafka_python(bootstrap: str) -> None:
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError

    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=False, acks=1)
    with pytest.raises(TopicAuthorizationFailedError):
        producer.send("read-only", b"v").get(30)
    assert producer.send("open", b"v").get(30).offset >= 0
    producer.close()
    consumer = KafkaConsumer("open", bootstrap_servers=bootstrap, group_id="closed")
    with pytest.raises(GroupAuthorizationFailedError):
        consumer.poll(20_000)
    consumer.close(autocommit=False)
