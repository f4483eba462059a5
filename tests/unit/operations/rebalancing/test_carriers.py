"""Who carries steps out: requests over a stand-in admin client, znodes over a ZooKeeper in memory."""

import asyncio

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import ElectionType, TopicPartition
from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.clients.admin.replicas import PartitionReassignment
from kafka_py.clients.admin.resources import AlterOperation, ConfigEntry, ConfigSource
from kafka_py.clients.admin.results import Results
from kafka_py.operations.rebalancing.carriers import (
    BROKERS,
    TOPICS,
    UNCERTAIN,
    BrokerCarrier,
    ZookeeperCarrier,
    reassigns_by_request,
    running_targets,
)
from kafka_py.operations.rebalancing.model import RebalanceRefused
from kafka_py.operations.rebalancing.throttles import LEADER_RATE, LEADER_REPLICAS
from kafka_py.testing.zookeeper import on_fake
from kafka_py.wire.apis import ApiKey

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class AnsweringAdmin:
    """Answers every call, with an error for T1 where one is given."""

    def __init__(self, error=None):
        self.error = error
        self.seen = []

    def _answer(self, items):
        return Results({item: self.error if item == T1 else None for item in items})

    async def list_partition_reassignments(self):
        return {T0: PartitionReassignment([1], [1], [])}

    async def alter_partition_reassignments(self, targets):
        self.seen.append(dict(targets))
        return self._answer(targets)

    async def describe_configs(self, resources):
        entry = ConfigEntry(LEADER_RATE, "5", ConfigSource.DYNAMIC_BROKER_CONFIG)
        other = ConfigEntry("other", "1", ConfigSource.STATIC_BROKER_CONFIG)
        failed = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return Results({each: failed if each.name == "9" else {"a": entry, "b": other} for each in resources})

    async def incremental_alter_configs(self, changes):
        self.seen.append({each.name: rows for each, rows in changes.items()})
        return Results(dict.fromkeys(changes, self.error))

    async def elect_leaders(self, kind, partitions):
        assert kind is ElectionType.PREFERRED
        return self._answer(partitions)

    async def api_versions(self):
        return dict.fromkeys((ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.METADATA), VersionRange(0, 0))


class RecentAdmin(AnsweringAdmin):
    """That of brokers which take reassignments by request."""

    async def api_versions(self):
        taken = (ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.INCREMENTAL_ALTER_CONFIGS)
        return dict.fromkeys(taken, VersionRange(0, 0))


def test_requests_name_what_was_refused():
    admin = AnsweringAdmin(KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker"))
    carrier = BrokerCarrier(admin)
    assert asyncio.run(carrier.running()) == {T0: (1,)}
    assert asyncio.run(carrier.start({T0: (1,), T1: (2,)})) == {T1: "no such broker"}
    assert "no such broker" in asyncio.run(carrier.elect([T0, T1]))[T1]
    with pytest.raises(KafkaError):
        asyncio.run(carrier.cancel([T1]))
    with pytest.raises(KafkaError):
        asyncio.run(carrier.alter(TOPICS, {"t": {LEADER_REPLICAS: None}}))


@pytest.mark.parametrize("code", UNCERTAIN)
def test_what_may_have_begun_is_not_taken_for_refused(code):
    assert asyncio.run(BrokerCarrier(AnsweringAdmin(KafkaError(code))).start({T0: (1,), T1: (2,)})) == {}


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("cancel", ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ("cancel", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("elect", ErrorCode.ELECTION_NOT_NEEDED),
    ],
)
def test_what_is_so_already_is_no_failure(call, code):
    assert not asyncio.run(getattr(BrokerCarrier(AnsweringAdmin(KafkaError(code))), call)([T0, T1]))


def test_only_settings_of_their_own_are_seen_and_set_or_deleted():
    admin = AnsweringAdmin()
    carrier = BrokerCarrier(admin)
    assert asyncio.run(carrier.overrides(BROKERS, ["1", "9"], [LEADER_RATE, "other"])) == {"1": {LEADER_RATE: "5"}}
    asyncio.run(carrier.alter(BROKERS, {"1": {LEADER_RATE: "7", "other": None}}))
    operations = [(row.name, row.value, row.operation) for row in admin.seen[-1]["1"]]
    assert operations == [(LEADER_RATE, "7", AlterOperation.SET), ("other", None, AlterOperation.DELETE)]


def test_brokers_that_lack_a_request_are_known():
    assert not asyncio.run(reassigns_by_request(AnsweringAdmin()))


@on_fake
async def test_through_zookeeper_one_list_at_a_time_is_written(store, zk):
    await store.brokers.ensure_top_level_paths()
    carrier = ZookeeperCarrier(store)
    assert await carrier.running() == {}
    assert await carrier.start({T0: (1, 2)}) == {}
    assert await store.admin.reassignments() == {T0: [1, 2]}
    assert await carrier.running() == {T0: (1, 2)}
    with pytest.raises(RebalanceRefused, match="Another reassignment"):
        await carrier.start({T1: (1,)})
    with pytest.raises(RebalanceRefused, match="cannot be cancelled"):
        await carrier.cancel([T0])


@on_fake
async def test_through_zookeeper_settings_come_and_go_and_leaders_are_asked_for(store, zk):
    await store.brokers.ensure_top_level_paths()
    carrier = ZookeeperCarrier(store)
    await store.configs.change("topics/t", {"retention.ms": "7"})
    await carrier.alter(TOPICS, {"t": {LEADER_REPLICAS: "0:1"}})
    found = await carrier.overrides(TOPICS, ["t"], [LEADER_REPLICAS])
    assert found == {"t": {LEADER_REPLICAS: "0:1"}}
    await carrier.alter(TOPICS, {"t": {LEADER_REPLICAS: None}})
    assert await store.configs.of_topic("t") == {"retention.ms": "7"}
    assert await carrier.elect([T0]) == {}
    assert await store.admin.preferred_elections() == {T0}
    assert await carrier.elect([T1]) == {T1: "another preferred election is pending"}


def test_the_replicas_that_a_reassignment_leads_to_are_named_without_those_that_it_removes():
    admin = RecentAdmin()

    async def listed():
        return {T0: PartitionReassignment([1, 2, 0], [2], [0])}

    admin.list_partition_reassignments = listed
    assert asyncio.run(BrokerCarrier(admin).running()) == asyncio.run(running_targets(admin)) == {T0: (1, 2)}


@pytest.mark.parametrize(
    ("code", "is_refused"), [(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, False), (ErrorCode.NOT_CONTROLLER, True)]
)
def test_who_may_not_see_reassignments_may_still_plan(code, is_refused):
    admin = RecentAdmin()

    async def listed():
        raise KafkaError(code)

    admin.list_partition_reassignments = listed
    if is_refused:
        with pytest.raises(KafkaError):
            asyncio.run(running_targets(admin))
    else:
        assert asyncio.run(running_targets(admin)) == {}


def test_settings_that_could_not_be_read_are_not_taken_for_none():
    """In the end they would be removed, for nothing was there before."""
    admin = AnsweringAdmin()

    async def described(resources):
        return Results(dict.fromkeys(resources, KafkaError(ErrorCode.REQUEST_TIMED_OUT)))

    admin.describe_configs = described
    with pytest.raises(KafkaError):
        asyncio.run(BrokerCarrier(admin).overrides(BROKERS, ["1"], [LEADER_RATE]))
