"""Spark on a cluster with TLS and logins: options reach the clients on driver and executors, and secrets stay there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_py.cli.local_cluster.security import ACLS
from kafka_py.clients import Producer
from kafka_py.pipeline.redaction import SETTING
from kafka_py.testing.client_access import ClientAccess
from kafka_py.testing.cluster import KafkaCluster

from .conftest import drain, values_in

SECRET = "planted-admin-5Zt"
"""Of the administrator, who needs no access control lists."""


@pytest.fixture(scope="module", params=["SASL_SSL", "SSL"])
def secured(
    request: pytest.FixtureRequest, kafka_cluster_factory: Callable[..., KafkaCluster]
) -> Iterator[KafkaCluster]:
    users = {"admin": SECRET, "alice": "alice-secret"}
    with kafka_cluster_factory(security=request.param, users=users, settings=ACLS) as cluster:
        yield cluster


def options(access: ClientAccess, **others: str) -> dict[str, str]:
    return {**{f"kafka.{name}": value for name, value in access.settings.items()}, **others}


def numbered(access: ClientAccess, topic: str, count: int) -> None:
    with Producer(access.settings) as producer:
        for each in range(count):
            producer.send(topic, value=b"%d" % each)


def test_read_written_and_streamed(secured: KafkaCluster, spark: Any, tmp_path: Path) -> None:
    access = secured.access("admin")
    first, second = secured.create_topic(partitions=2), secured.create_topic()
    numbered(access, first, 20)
    frame = spark.read.format("kafka_py").options(**options(access, subscribe=first)).load()
    frame.select("value").write.format("kafka_py").options(**options(access, topic=second)).mode("append").save()
    drain(spark, options(access, subscribe=second, startingOffsets="earliest"), tmp_path, commitGroup="g")
    assert values_in(spark, tmp_path) == list(range(20))


def test_written_in_transactions(secured: KafkaCluster, spark: Any) -> None:
    access = secured.access("admin")
    topic = secured.create_topic()
    frame = spark.range(10).selectExpr("cast(id as string) as value")
    once = options(access, topic=topic, exactlyOnce="true", transactionalIdPrefix=f"{topic}-once")
    frame.write.format("kafka_py").options(**once).mode("append").save()
    read = options(access, subscribe=topic, **{"kafka.isolation.level": "read_committed"})
    assert spark.read.format("kafka_py").options(**read).load().count() == 10


def test_a_user_without_permission_is_told_so(secured: KafkaCluster, spark: Any) -> None:
    frame = spark.read.format("kafka_py").options(**options(secured.access("alice"), subscribe=secured.create_topic()))
    with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
        frame.load().count()


def test_no_plan_error_or_progress_shows_a_secret(secured: KafkaCluster, spark: Any, tmp_path: Path) -> None:
    access = secured.access("admin")
    assert secured.security is not None
    secrets = [SECRET, secured.security.store_password]
    topic = secured.create_topic()
    numbered(access, topic, 2)
    frame = spark.read.format("kafka_py").options(**options(access, subscribe=topic)).load()
    query = drain(spark, options(access, subscribe=topic, startingOffsets="earliest"), tmp_path)
    plans = frame._jdf.queryExecution()
    said = {
        "plans": plans.toString() + plans.analyzed().toJSON(),
        "query": query._jsq.explainInternal(True),
        "progress": str(query.recentProgress) + str(query.status),
        "checkpoint": "".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()),
        "view": view_of(spark, options(access, subscribe=topic)),
        "wrong option": failure(lambda: spark.read.format("kafka_py").options(**options(access)).load().count()),
        "wrong login": failure(lambda: wrong_login(spark, access, topic)),
    }
    assert [(what, text) for what, text in said.items() for secret in secrets if secret in text] == []
    assert "subscribe" in said["wrong option"]


def view_of(spark: Any, given: dict[str, str]) -> str:
    """How Spark shows the command that makes a view with these options."""
    pairs = ", ".join(f"`{name}` '{value}'" for name, value in given.items() if "'" not in value)
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(
        f"CREATE TEMPORARY VIEW orders USING kafka_py OPTIONS ({pairs})"
    )
    assert "redacted" in plan.toString(), spark.conf.get(SETTING)
    return str(plan.toString())


def wrong_login(spark: Any, access: ClientAccess, topic: str) -> None:
    """Credentials that are refused, and such as cannot even be parsed."""
    given = options(access, subscribe=topic)
    name = "kafka.sasl.jaas.config" if "kafka.sasl.jaas.config" in given else "kafka.ssl.keystore.password"
    for value in (given[name].replace('"', "", 1) + "'", given[name].replace("5Zt", "x") + "x"):
        with pytest.raises(Exception) as failed:
            spark.read.format("kafka_py").options(**{**given, name: value}).load().count()
        assert value not in str(failed.value)
    raise failed.value


def failure(work: Callable[[], object]) -> str:
    with pytest.raises(Exception) as failed:
        work()
    return str(failed.value)
