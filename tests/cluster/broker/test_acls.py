"""A broker with an authorizer: who may do what, by ACLs that clients create and delete."""

import asyncio
import logging
import re
from typing import Any

import pytest

from kafka_py.base.errors import ConfigError, ErrorCode
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_py.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_py.wire.messages.describe_acls import DescribeAclsRequest
from kafka_py.wire.messages.init_producer_id import InitProducerIdRequest
from kafka_py.wire.messages.metadata import MetadataRequest

BY_ACLS = "kafka.security.authorizer.AclAuthorizer"
SUPER = {"authorizer_class_name": BY_ACLS, "super_users": "User:root;User:ANONYMOUS"}
OPEN = {"authorizer_class_name": BY_ACLS, "allow_everyone_if_no_acl_found": "true"}
NONE, INVALID, UNKNOWN = ErrorCode.NONE, ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_SERVER_ERROR
ME = "User:ANONYMOUS"


def acl(
    name: str = "t",
    operation: Operation = Operation.READ,
    *,
    kind: int = ResourceType.TOPIC,
    pattern: PatternType = PatternType.LITERAL,
    who: str = "User:alice",
    permission: Permission = Permission.ALLOW,
    host: str = "*",
) -> AclCreation:
    return AclCreation(
        resource_type=kind, resource_name=name, resource_pattern_type=pattern, principal=who, host=host,
        operation=operation, permission_type=permission,
    )  # fmt: skip


async def create(broker: LocalBroker, *acls: AclCreation, version: int = 2) -> list[tuple[int, str | None]]:
    answer = await broker.ask(CreateAclsRequest(creations=list(acls)), version)
    return [(row.error_code, row.error_message) for row in answer.results]


async def describe(broker: LocalBroker, name: str | None = None, **fields: Any) -> list[tuple[Any, ...]]:
    asked = {"resource_type_filter": 1, "pattern_type_filter": 1, "principal_filter": None, "host_filter": None,
             "operation": 1, "permission_type": 1, **fields}  # fmt: skip
    answer = await broker.ask(DescribeAclsRequest(resource_name_filter=name, **asked), 2)
    assert (answer.error_code, answer.error_message) == (NONE, None)
    return sorted(
        (row.resource_name, row.pattern_type, each.principal, each.operation)
        for row in answer.resources
        for each in row.acls
    )


def selecting(name: str | None, **fields: Any) -> DeleteAclsFilter:
    asked = {"resource_type_filter": 2, "pattern_type_filter": 3, "principal_filter": None, "host_filter": None,
             "operation": 1, "permission_type": 1, **fields}  # fmt: skip
    return DeleteAclsFilter(resource_name_filter=name, **asked)


@on_broker(**SUPER)
async def test_acls_are_created_described_and_deleted(broker: LocalBroker) -> None:
    prefixed = acl("t", pattern=PatternType.PREFIXED)
    assert await create(broker, acl(), prefixed, acl(operation=Operation.WRITE), acl()) == [(NONE, None)] * 4
    literal, prefix = PatternType.LITERAL, PatternType.PREFIXED
    everything = [("t", literal, "User:alice", 3), ("t", literal, "User:alice", 4), ("t", prefix, "User:alice", 3)]
    assert await describe(broker) == everything
    assert await describe(broker, "topic", pattern_type_filter=2, resource_type_filter=2) == everything[2:]
    assert await describe(broker, principal_filter="User:bob") == []
    tree = broker.zookeeper.tree()
    assert b"User:alice" in (tree["/kafka-acl-extended/prefixed/Topic/t"] or b"")
    answer = await broker.ask(DeleteAclsRequest(filters=[selecting("t", operation=3), selecting(None)]), 2)
    first, second = answer.filter_results
    assert [(row.resource_name, row.operation, row.error_code) for row in first.matching_acls] == [("t", 3, NONE)]
    assert [row.operation for row in second.matching_acls] == [4]
    assert await describe(broker) == everything[2:]
    assert "/kafka-acl/Topic/t" not in broker.zookeeper.tree()


@on_broker(**SUPER)
async def test_what_cannot_be_an_acl_is_refused(broker: LocalBroker) -> None:
    results = await create(
        broker, acl("other", kind=ResourceType.CLUSTER), acl(""), acl("t"), acl("nobody", who="alice"),
    )  # fmt: skip
    assert results[:3] == [
        (INVALID, "The only valid name for the CLUSTER resource is kafka-cluster"),
        (INVALID, "Invalid empty resource name"),
        (NONE, None),
    ]
    assert results[3][0] == UNKNOWN
    for wrong in (acl(kind=ResourceType.ANY), acl(operation=Operation.ANY), acl(permission=Permission.ANY),
                  acl(pattern=PatternType.ANY), acl(pattern=PatternType.MATCH)):  # fmt: skip
        assert [code for code, _ in await create(broker, acl("u"), wrong)] == [UNKNOWN, UNKNOWN]
    assert [row[0] for row in await describe(broker)] == ["t"]
    for request in (
        CreateAclsRequest(creations=[acl(operation=Operation.UNKNOWN)]),
        CreateAclsRequest(creations=[acl(kind=77)]),
        DeleteAclsRequest(filters=[selecting("t", operation=99)]),
    ):
        with pytest.raises(ConnectionError):
            await broker.ask(request, 2)
        broker.client = await broker.connect()


@on_broker(**SUPER, inter_broker_protocol_version="1.1")
async def test_prefixed_acls_are_refused_before_their_protocol_version(broker: LocalBroker) -> None:
    prefixed = acl(pattern=PatternType.PREFIXED)
    assert await create(broker, acl(), prefixed) == [(NONE, None), (INVALID, "Failed to create ACL")]
    assert not [path for path in broker.zookeeper.tree() if path.startswith("/kafka-acl-extended/prefixed/Topic/")]


@on_broker(**SUPER)
async def test_very_many_acls_are_answered_in_turns(broker: LocalBroker) -> None:
    many = [acl(f"t{number % 300}", who=f"User:{number}") for number in range(3_000)]
    assert await create(broker, *many) == [(NONE, None)] * len(many)
    assert len(await describe(broker)) == len(many)
    answer = await broker.ask(DeleteAclsRequest(filters=[selecting(None)]), 2)
    assert len(answer.filter_results[0].matching_acls) == len(many)
    assert await describe(broker) == []


@on_broker(**OPEN)
async def test_acls_decide_as_soon_as_they_are_created(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    await broker.create_topic("u")
    assert (await broker.produce("t", batch())).error_code == NONE
    assert await create(broker, acl(operation=Operation.WRITE)) == [(NONE, None)]
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (await broker.produce("t", batch())).error_code == denied
    assert (await broker.fetch("t", 0)).error_code == denied
    assert (await broker.produce("u", batch())).error_code == NONE
    assert await create(broker, acl(who=ME)) == [(NONE, None)]
    assert (await broker.fetch("t", 0)).error_code == NONE
    assert (await broker.produce("t", batch())).error_code == denied
    await broker.ask(DeleteAclsRequest(filters=[selecting(None)]), 2)
    assert (await broker.produce("t", batch())).error_code == NONE
    row = await broker.ask(MetadataRequest(topics=None, include_topic_authorized_operations=True), 9)
    assert {topic.topic_authorized_operations for topic in row.topics} == {3576}


@on_broker(**OPEN)
async def test_a_client_that_may_write_somewhere_may_be_idempotent(broker: LocalBroker) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    cluster = acl("kafka-cluster", Operation.ALTER, kind=ResourceType.CLUSTER, who=ME)
    denied = acl("*", Operation.WRITE, who=ME, permission=Permission.DENY)
    assert await create(broker, cluster, denied) == [(NONE, None)] * 2
    assert (await broker.ask(request, 4)).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    await broker.ask(DeleteAclsRequest(filters=[selecting(None)]), 2)
    assert (await broker.ask(request, 4)).error_code == NONE


class Plugin:
    """Denies reading; keeps no ACLs."""

    def __init__(self) -> None:
        self.given: Any = None

    def configure(self, properties: Any) -> None:
        self.given = properties

    def allows(self, who: Any, operation: Operation, resource_type: ResourceType, name: str, *_: Any) -> bool:
        return not (operation is Operation.READ and name == "t" and self.given["my.own"] == "1")


@on_broker(authorizer_class_name=f"{__name__}:Plugin", my_own="1")
async def test_an_authorizer_of_ones_own(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    assert (await broker.produce("t", batch())).error_code == NONE
    assert (await broker.fetch("t", 0)).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
    assert (await broker.ask(request, 4)).error_code == NONE
    assert await create(broker, acl()) == [(INVALID, "The authorizer Plugin has no method create_acls")]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"authorizer.class.name": "com.example.Own"}, "Class com.example.Own could not be found"),
        ({"authorizer.class.name": "kafka_py.broker.server:KafkaServer"}, "it cannot be made"),
        ({"authorizer.class.name": "kafka_py.base.clock:SystemClock"}, "it has no method allows"),
        ({"authorizer.class.name": BY_ACLS, "super.users": "root"}, "super.users"),
        ({"authorizer.class.name": BY_ACLS, "allow.everyone.if.no.acl.found": "yes"}, "must be true or false"),
    ],
)
def test_a_broker_does_not_start_without_the_authorizer_that_it_should_have(
    settings: dict[str, str], reason: str
) -> None:
    async def start() -> None:
        with pytest.raises(ConfigError, match=re.escape(reason)):
            await LocalBroker("/nonexistent", FakeZookeeper(), settings).start()

    asyncio.run(start())


@on_broker(**OPEN)
async def test_denials_are_in_the_audit_log(broker: LocalBroker) -> None:
    lines: list[tuple[int, str]] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.levelno, record.getMessage()))

    logger, handler = logging.getLogger("kafka.authorizer.logger"), Lines()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        await broker.create_topic("t")
        await create(broker, acl(operation=Operation.WRITE))
        await broker.produce("t", batch())
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert [each for each in lines if each[0] >= logging.INFO] == [(
        logging.INFO,
        "Principal = User:ANONYMOUS is Denied Operation = Write from host = 127.0.0.1 on resource = Topic:LITERAL:t"
        " for request = Produce with resourceRefCount = 1",
    )]  # fmt: skip
