"""Each option of the table, in the batch reader and in the streaming one; and what needs a broker that goes away."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.resources import AlterConfig, ConfigResource, ConfigResourceType
from kafka_py.pipeline.options import ROWS, Where
from kafka_py.pipeline.ranges import OffsetRange
from kafka_py.pipeline.source import KafkaSource, TopicSplit
from kafka_py.testing.broker import BrokerProcess
from kafka_py.testing.cluster import KafkaCluster
from kafka_py.testing.processes import wait_until

from .conftest import Topic
from .option_cases import CASES, Case, each_way, fill, read

PLACES = {"batch": Where.BATCH, "stream": Where.STREAM}
WAYS = [
    pytest.param(where, case, id=f"{where}-{case.id}", marks=[pytest.mark.slow] if where == "stream" else [])
    for where, case in each_way()
]


@pytest.fixture(scope="module")
def names(cluster: KafkaCluster) -> dict[str, str]:
    """The topics of option_cases.py, filled."""
    return fill(cluster.bootstrap_servers)


def test_every_option_of_the_readers_has_its_case_in_each_of_them() -> None:
    proven = {(case.option, where) for case in CASES for where in case.where}
    needed = {(row.name, where) for row in ROWS for where, place in PLACES.items() if row.where & place}
    assert needed <= proven
    ours = {row.name for row in ROWS if not row.spark and row.where & Where.READ}
    assert {case.option for case in CASES if case.ours} == ours


@pytest.mark.parametrize(("where", "case"), WAYS)
def test_an_option_does_what_the_table_says(
    spark: Any, names: dict[str, str], where: str, case: Case, tmp_path: Path
) -> None:
    options = case.options(names)
    if case.numbers is None:
        with pytest.raises(Exception, match=case.error):
            read(spark, "kafka_py", where, options, str(tmp_path))
        return
    found = read(spark, "kafka_py", where, options, str(tmp_path))
    assert found["numbers"] == case.numbers
    assert found["tasks"] >= case.least_tasks
    assert not case.batches or tuple(found["batches"]) == case.batches


@pytest.mark.parametrize(
    ("given", "client_ids"),
    [
        ({"groupIdPrefix": "prefix-of-mine"}, ("prefix-of-mine-driver", "prefix-of-mine-executor")),
        ({"kafka.group.id": "group-of-mine"}, ("group-of-mine",)),
        ({"kafka.group.id": "unseen", "kafka.client.id": "client-of-mine"}, ("client-of-mine",)),
    ],
)
def test_the_broker_sees_the_reader_by_the_name_it_was_given(
    spark: Any, cluster: KafkaCluster, names: dict[str, str], given: dict[str, str], client_ids: tuple[str, ...]
) -> None:
    requests = ConfigResource(ConfigResourceType.BROKER_LOGGER, "0")
    louder = AlterConfig("kafka.request.logger", "DEBUG")
    with AdminClient({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
        admin.incremental_alter_configs({requests: [louder]}).all()
    case = Case("groupIdPrefix", given)
    read(spark, "kafka_py", "batch", case.options(names), "")
    log = cluster.brokers[0].log
    for client_id in client_ids:
        wait_until(lambda wanted=f'"clientId":"{client_id}"': wanted in log.read_text(), 30, client_id)


@pytest.fixture(params=["batch", "stream"])
def reader_of(request: pytest.FixtureRequest) -> Callable[[dict[str, str]], Any]:
    """reader_of(options): the reader that Spark's workers get, batch or streaming, without Spark."""

    def make(options: dict[str, str]) -> Any:
        source = KafkaSource({name.lower(): value for name, value in options.items()})
        schema = parsed(source.schema())
        return source.reader(schema) if request.param == "batch" else source.streamReader(schema)

    return make


def parsed(schema: str) -> Any:
    """A schema in Spark's words as its types."""
    from pyspark.sql.types import StructType

    return StructType.fromDDL(schema)


def test_fetch_bytes_is_what_one_fetch_takes(
    reader_of: Callable[[dict[str, str]], Any], cluster: KafkaCluster, make_topic: Callable[..., Topic]
) -> None:
    topic = make_topic(1)
    topic.feed(({"value": b"%d" % n} for n in range(2000)), batch_size=1000)
    split = TopicSplit(OffsetRange(topic.name, 0, 0, 2000))

    def chunks(**options: str) -> int:
        batches = list(reader_of({**topic.options, **options}).read(split))
        assert sum(batch.num_rows for batch in batches) == 2000
        return len(batches)

    assert chunks() < 5
    assert chunks(fetchBytes="1") > 10
    assert chunks(fetchBytes="1", **{"kafka.max.partition.fetch.bytes": str(1 << 20)}) < 5


def test_a_broker_that_stays_away_is_waited_for_as_long_as_the_option_says(
    reader_of: Callable[[dict[str, str]], Any], broker_process: BrokerProcess
) -> None:
    broker_process.create_topic("gone")
    topic = Topic(broker_process.bootstrap, "gone")
    topic.number(0, 10)
    reader = reader_of({**topic.options, "kafkaConsumer.pollTimeoutMs": "700"})
    assert sum(batch.num_rows for batch in reader.read(TopicSplit(OffsetRange("gone", 0, 0, 10)))) == 10
    broker_process.kill()
    begun = time.monotonic()
    with pytest.raises(KafkaError, match="nothing came within") as error:
        list(reader.read(TopicSplit(OffsetRange("gone", 0, 3, 10))))
    assert error.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert time.monotonic() - begun >= 0.7
