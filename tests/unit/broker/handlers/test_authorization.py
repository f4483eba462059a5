"""Every API asks for the right operation on the right resource, and refuses as Apache Kafka 2.8.2 does: row by row."""

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from authorization_cases import CASES, Case, Denied, made, request_of

from kafka_py.base.errors import ErrorCode
from kafka_py.base.ids import ZERO_UUID
from kafka_py.security.acls.authorization import AllowAll, Asker, Audit
from kafka_py.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from kafka_py.testing.local_broker import LocalBroker, batch, on_broker
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

TABLE = Path(__file__).parents[4] / "docs" / "reference" / "security" / "authorization.tsv"

NOT_SERVED = {"Envelope", "DescribeDelegationToken"}
"""Forwarding is for brokers without ZooKeeper. Tokens need a login: tests/cluster/security/test_tokens.py."""

ONE_BROKER = {"offsets_topic_num_partitions": 1, "offsets_topic_replication_factor": 1, "num_partitions": 1,
              "transaction_state_log_num_partitions": 1, "transaction_state_log_replication_factor": 1,
              "transaction_state_log_min_isr": 1, "group_initial_rebalance_delay_ms": 0}  # fmt: skip


def table() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def row_of(case: Case) -> dict[str, str]:
    (row,) = [
        row
        for row in table()
        if row["api"] == APIS[case.api].name and row["when"].startswith(case.when) and row["operation"] != "-"
    ] if case.when not in ("same", "always") else [
        row for row in table() if row["api"] == APIS[case.api].name and row["operation"] != "-"
        and row["when"].split(";")[0].split(" (")[0] == case.when
    ]  # fmt: skip
    return row


class Recorder(AllowAll):
    """Denies some operations on some types of resources, and keeps what was asked."""

    __slots__ = ("asked", "denied")

    def __init__(self, denied: tuple[Denied, ...] = ()) -> None:
        self.denied = denied
        self.asked: list[tuple[Operation, ResourceType, str, Audit]] = []

    def allows(
        self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, audit: Audit = Audit.ALWAYS, /
    ) -> bool:
        self.asked.append((operation, resource_type, name, audit))
        return (operation, resource_type) not in self.denied

    def allows_on_any(self, who: Asker, operation: Operation, resource_type: ResourceType, /) -> bool:
        self.asked.append((operation, resource_type, "any", Audit.ALWAYS))
        return (operation, resource_type) not in self.denied


async def with_group(broker: LocalBroker) -> None:
    """A member of group g, and a coordinator for the transactional id x."""
    for key, key_type in (("g", 0), ("x", 1)):
        async def found(key: str = key, key_type: int = key_type) -> bool:
            asked = FindCoordinatorRequest(key=key, key_type=key_type)
            return (await broker.ask(asked, 3)).error_code == ErrorCode.NONE

        while not await found():
            pass
    protocol = JoinGroupRequestProtocol(name="p", metadata=b"")
    join = JoinGroupRequest(
        group_id="g", session_timeout_ms=10_000, member_id="", protocol_type="consumer", protocols=[protocol]
    )
    while (await broker.ask(join, 3)).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        pass


NEEDS_GROUP = {ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.LIST_GROUPS, ApiKey.TXN_OFFSET_COMMIT,
               ApiKey.OFFSET_DELETE, ApiKey.DESCRIBE_GROUPS}  # fmt: skip


def name_in(case: Case, row: dict[str, str]) -> str | None:
    """The resource's name that the row means; None where every one of several is asked for."""
    if case.api is ApiKey.OFFSET_FETCH and case.when == "all partitions":
        return None
    return CLUSTER_NAME if row["resource_type"] == "CLUSTER" else case.name


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{APIS[case.api].name}-{case.when}".replace(" ", "_"))
def test_a_row(case: Case) -> None:
    row = row_of(case)

    @on_broker(**ONE_BROKER)
    async def run(broker: LocalBroker) -> None:
        await broker.create_topic("t")
        if case.api in NEEDS_GROUP:
            await with_group(broker)
        recorder = broker.server.node.authorizer = Recorder(case.denied)
        version = APIS[case.api].max_version if case.version is None else case.version
        answer = await broker.ask(request_of(case), version)
        broker.server.node.authorizer = AllowAll()
        assert case.see(answer) == case.looks
        name = name_in(case, row)
        if name is None:
            return
        if row["operation"].startswith("all "):
            operations = {(each, kind) for each, kind, _, audit in recorder.asked if audit is Audit.NEVER}
            assert len(operations) == int(row["operation"].split()[1])
            return
        for operation in row["operation"].split():
            kind = ResourceType[row["resource_type"]]
            found = [each for each in recorder.asked if each[:3] == (Operation[operation], kind, name)]
            assert found, recorder.asked
            assert (row["logged"] == "y") in [each[3] is Audit.ALWAYS for each in found]

    run()


def test_every_row_has_a_case() -> None:
    rows = [(row["api"], row["when"]) for row in table() if row["operation"] not in ("-", "as the inner API")]
    tested = [(row["api"], row["when"]) for row in map(row_of, CASES)]
    assert [row for row in rows if row not in tested and row[0] not in NOT_SERVED] == []
    assert len(tested) == len(set(tested))


@on_broker(**ONE_BROKER)
async def test_a_topic_deleted_by_id_is_named_to_those_who_may_describe_it(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    topic_id = broker.server.node.metadata.topic_id("t")
    request = made(APIS[ApiKey.DELETE_TOPICS].request, {"topics": [{"name": None, "topic_id": topic_id}]})
    delete, describe = (Operation.DELETE, ResourceType.TOPIC), (Operation.DESCRIBE, ResourceType.TOPIC)
    for denied, name in (((delete,), "t"), ((describe, delete), None)):
        broker.server.node.authorizer = Recorder(denied)
        (row,) = (await broker.ask(request, 6)).responses
        assert (row.name, row.topic_id, row.error_code) == (name, topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


@on_broker(**ONE_BROKER)
async def test_a_topic_that_may_not_be_deleted_by_name_looks_like_one_that_does_not_exist(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    named = [{"name": name, "topic_id": ZERO_UUID} for name in ("t", "absent")]
    broker.server.node.authorizer = Recorder(((Operation.DELETE, ResourceType.TOPIC),))
    answer = await broker.ask(made(APIS[ApiKey.DELETE_TOPICS].request, {"topics": named}), 6)
    assert [(row.topic_id, row.error_code) for row in answer.responses] == [
        (ZERO_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    ] * 2


@on_broker(**ONE_BROKER)
async def test_a_request_with_another_type_of_resource_is_refused_as_a_whole(broker: LocalBroker) -> None:
    broker.server.node.authorizer = recorder = Recorder()
    for key, types in ((ApiKey.DESCRIBE_CONFIGS, (2, 3)), (ApiKey.ALTER_CONFIGS, (2, 8)),
                       (ApiKey.INCREMENTAL_ALTER_CONFIGS, (4, 3))):  # fmt: skip
        resources = [{"resource_type": each, "resource_name": "t"} for each in types]
        answer = await broker.ask(made(APIS[key].request, {"resources": resources}), APIS[key].max_version)
        answered = answer.results if key is ApiKey.DESCRIBE_CONFIGS else answer.responses
        assert [row.error_code for row in answered] == [ErrorCode.INVALID_REQUEST] * 2
    assert recorder.asked == []


@on_broker(**ONE_BROKER)
async def test_the_operations_on_a_missing_topic_are_told_unless_it_is_denied(broker: LocalBroker) -> None:
    write, create = (Operation.WRITE, ResourceType.TOPIC), (Operation.CREATE, ResourceType.TOPIC)
    cluster, describe = (Operation.CREATE, ResourceType.CLUSTER), (Operation.DESCRIBE, ResourceType.TOPIC)
    none = -2147483648
    for denied, creates, code, told in (
        ((write,), False, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 3576 - (1 << Operation.WRITE)),
        ((create, cluster), True, ErrorCode.TOPIC_AUTHORIZATION_FAILED, none),
        ((describe,), True, ErrorCode.TOPIC_AUTHORIZATION_FAILED, none),
        ((write,), True, ErrorCode.LEADER_NOT_AVAILABLE, 3576 - (1 << Operation.WRITE)),
    ):
        broker.server.node.authorizer = Recorder(denied)
        request = {"topics": [{"name": "n"}], "include_topic_authorized_operations": True,
                   "allow_auto_topic_creation": creates}  # fmt: skip
        (row,) = (await broker.ask(made(APIS[ApiKey.METADATA].request, request), 9)).topics
        assert (row.error_code, row.topic_authorized_operations) == (code, told)


@on_broker(**ONE_BROKER)
async def test_without_describe_configs_a_result_of_create_topics_has_neither_id_nor_settings(
    broker: LocalBroker,
) -> None:
    """The code of the settings is told of refused topics as well, and taken back where the creation fails later."""
    create, cluster = (Operation.CREATE, ResourceType.TOPIC), (Operation.CREATE, ResourceType.CLUSTER)
    configs = (Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
    denied_topic = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    async def results(denied: tuple[Denied, ...], *names: str, timeout_ms: int = 1000) -> list[tuple[int, ...]]:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
        request = made(APIS[ApiKey.CREATE_TOPICS].request, {"topics": topics, "timeout_ms": timeout_ms})
        broker.server.node.authorizer = Recorder(denied)
        answer = await broker.ask(request, 7)
        return [
            (row.error_code, row.topic_config_error_code, row.num_partitions, len(row.configs) > 0,
             row.topic_id != ZERO_UUID)
            for row in answer.topics
        ]  # fmt: skip

    assert await results((), "a") == [(0, 0, 1, True, True)]
    assert await results((configs,), "b") == [(0, denied_topic, -1, False, False)]
    assert await results((configs, create, cluster), "c") == [(denied_topic, denied_topic, -1, False, False)]
    assert await results((create, cluster), "c") == [(denied_topic, 0, -1, False, False)]
    assert await results((configs,), "c", "c") == [(ErrorCode.INVALID_REQUEST, denied_topic, -1, False, False)]
    assert await results((configs,), "a") == [(ErrorCode.TOPIC_ALREADY_EXISTS, 0, -1, False, False)]
    assert await results((), "d", timeout_ms=0) == [(ErrorCode.REQUEST_TIMED_OUT, 0, -1, False, True)]


@on_broker(**ONE_BROKER)
async def test_a_topic_is_deleted_by_name_by_those_who_may_delete_but_not_describe_it(broker: LocalBroker) -> None:
    await broker.create_topic("t")
    broker.server.node.authorizer = Recorder(((Operation.DESCRIBE, ResourceType.TOPIC),))
    request = made(APIS[ApiKey.DELETE_TOPICS].request, {"topics": [{"name": "t", "topic_id": ZERO_UUID}]})
    (row,) = (await broker.ask(request, 6)).responses
    assert row.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED
    await broker.until(lambda: not broker.server.node.metadata.has_topic("t"))


@on_broker(**ONE_BROKER)
async def test_another_broker_than_the_controller_says_so_before_it_asks_for_rights(broker: LocalBroker) -> None:
    node = broker.server.node
    controller = node.controller
    node.controller = SimpleNamespace(is_active=False)  # type: ignore[assignment]
    node.authorizer = recorder = Recorder()
    try:
        topics = [{"name": "n", "num_partitions": 1, "replication_factor": 1}]
        (topic,) = (await broker.ask(made(APIS[ApiKey.CREATE_TOPICS].request, {"topics": topics}), 7)).topics
        assert (topic.error_code, topic.topic_config_error_code) == (ErrorCode.NOT_CONTROLLER, 0)
        deletions = [{"name": "u", "mechanism": 1}]
        request = made(APIS[ApiKey.ALTER_USER_SCRAM_CREDENTIALS].request, {"deletions": deletions})
        (user,) = (await broker.ask(request, 0)).results
        assert user.error_code == ErrorCode.NOT_CONTROLLER
        growth = [{"name": "t", "count": 5, "assignments": None}]
        (grown,) = (await broker.ask(made(APIS[ApiKey.CREATE_PARTITIONS].request, {"topics": growth}), 3)).results
        assert grown.error_code == ErrorCode.NOT_CONTROLLER
        assert recorder.asked == []
    finally:
        node.controller = controller


@on_broker(**ONE_BROKER)
async def test_where_two_rights_are_asked_for_in_turn_either_is_enough(broker: LocalBroker) -> None:
    """The one on the cluster, or the one on the topic or group."""
    await broker.create_topic("t")
    await with_group(broker)
    group, topic, cluster = ResourceType.GROUP, ResourceType.TOPIC, ResourceType.CLUSTER

    async def asks(key: ApiKey, fields: dict[str, object]) -> object:
        return await broker.ask(made(APIS[key].request, fields), APIS[key].max_version)

    for number, is_on_cluster in enumerate((True, False)):
        def denying(
            on_cluster: Operation, other: tuple[Operation, ResourceType], is_on_cluster: bool = is_on_cluster
        ) -> None:
            broker.server.node.authorizer = Recorder(((on_cluster, cluster) if is_on_cluster else other,))

        denying(Operation.CREATE, (Operation.CREATE, topic))
        created: Any = await asks(ApiKey.CREATE_TOPICS, {
            "topics": [{"name": f"c{number}", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 1000,
        })
        assert [row.error_code for row in created.topics] == [0]
        found: Any = await asks(ApiKey.METADATA, {
            "topics": [{"name": f"m{number}"}], "allow_auto_topic_creation": True,
        })
        assert [row.error_code for row in found.topics] == [ErrorCode.LEADER_NOT_AVAILABLE]
        denying(Operation.IDEMPOTENT_WRITE, (Operation.WRITE, topic))
        given: Any = await asks(ApiKey.INIT_PRODUCER_ID, {
            "transactional_id": None, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1,
        })
        assert (given.error_code, given.producer_id >= 0) == (0, True)
        denying(Operation.CLUSTER_ACTION, (Operation.DESCRIBE, topic))
        ended: Any = await asks(ApiKey.OFFSET_FOR_LEADER_EPOCH, {
            "topics": [{"topic": "t", "partitions": [{"partition": 0, "leader_epoch": 0}]}],
        })
        assert [row.error_code for each in ended.topics for row in each.partitions] == [0]
        denying(Operation.DESCRIBE, (Operation.DESCRIBE, group))
        listed: Any = await asks(ApiKey.LIST_GROUPS, {})
        assert [row.group_id for row in listed.groups] == ["g"]


@on_broker()
async def test_a_producer_is_asked_about_once_for_each_topic_and_before_what_exists(broker: LocalBroker) -> None:
    class Only(Recorder):
        def allows(self, who: Asker, operation: Operation, resource_type: ResourceType, name: str, *rest: Any) -> bool:
            return super().allows(who, operation, resource_type, name, *rest) and name == "may"

    for name in ("may", "denied"):
        await broker.create_topic(name, 2)
    recorder = broker.server.node.authorizer = Only()
    names = ["may", "denied", "denied and unknown"]
    rows = [PartitionProduceData(index=index, records=batch()) for index in (0, 1)]
    topics = [TopicProduceData(name=name, partition_data=rows) for name in names]
    answer = await broker.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 8)
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert {row.name: [each.error_code for each in row.partition_responses] for row in answer.responses} == {
        "may": [0, 0], "denied": [denied] * 2, "denied and unknown": [denied] * 2,
    }  # fmt: skip
    assert [name for operation, _, name, _ in recorder.asked if operation is Operation.WRITE] == names
