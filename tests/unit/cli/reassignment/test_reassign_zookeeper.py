"""kafka-reassign-partitions.sh --zookeeper: throttles come and go in ZooKeeper, and nothing else is touched."""

import json

from kafka_py.cli.reassignment.reassign_zookeeper import clear_throttles
from kafka_py.operations.reassignments.plans import parse_plan
from kafka_py.testing.zookeeper import on_fake

PLAN = parse_plan(json.dumps({"version": 1, "partitions": [
    {"topic": topic, "partition": 0, "replicas": [1, 2]} for topic in ("t", "u")
]}))  # fmt: skip


@on_fake
async def test_throttles_are_cleared_and_other_settings_stay(store, zk):
    await store.brokers.ensure_top_level_paths()
    rate, replicas = "leader.replication.throttled.rate", "follower.replication.throttled.replicas"
    await store.configs.change("brokers/1", {rate: "5", "log.cleaner.threads": "2"})
    await store.configs.change("topics/t", {replicas: "0:1", "retention.ms": "7"})
    await clear_throttles(store, PLAN)
    assert await store.configs.of_entities(["brokers/1", "topics/t"]) == {
        "brokers/1": {"log.cleaner.threads": "2"}, "topics/t": {"retention.ms": "7"},
    }  # fmt: skip


@on_fake
async def test_what_has_no_throttle_is_neither_written_nor_announced(store, zk):
    await store.brokers.ensure_top_level_paths()
    await store.configs.change("topics/t", {"retention.ms": "7"})
    before = zk.tree()
    await clear_throttles(store, PLAN)
    assert zk.tree() == before
