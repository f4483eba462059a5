"""What the transactional sink does under Spark, whoever coordinates: writes and streams, failed and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.clients.consumer.consumer import Consumer
from kafka_py.clients.producer.producer import Producer
from kafka_py.pipeline.jobs import mirror as mirror_job
from kafka_py.pipeline.jobs.spec import Section
from kafka_py.pipeline.jobs.stopping import Stop
from kafka_py.pipeline.session import SparkMissing, spark_session
from kafka_py.testing.processes import ROOT

BROKER_SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}

SPARK_SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}


def small_session(folder: Path) -> Iterator[Any]:
    """A session of one task at a time, for a fixture to yield from."""
    import os

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    settings = {**SPARK_SETTINGS, "spark.local.dir": str(folder), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    try:
        session = spark_session("kafka_py exactly once", master="local[1]", settings=settings)
    except SparkMissing as why:
        pytest.skip(str(why))
    yield session
    session.stop()


def feed(bootstrap: str, topic: str, first: int, last: int, partitions: int) -> None:
    """Numbers as text, dealt to the partitions."""
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        for number in range(first, last):
            producer.send(topic, b"%d" % number, partition=number % partitions)


def numbers(bootstrap: str, topic: str, partitions: int, isolation: str = "read_committed") -> list[int]:
    """What a consumer reads up to the end, sorted."""
    settings = {"bootstrap.servers": bootstrap, "isolation.level": isolation, "auto.offset.reset": "earliest"}
    found: list[int] = []
    with Consumer(settings) as consumer:
        wanted = [TopicPartition(topic, each) for each in range(partitions)]
        consumer.assign(wanted)
        ends = consumer.end_offsets(wanted)
        while any(consumer.position(each) < ends[each] for each in wanted):
            found += [int(record.value) for record in consumer.poll(0.5)]
    return sorted(found)


def write(frame: Any, bootstrap: str, topic: str, **options: str) -> None:
    frame.write.format("kafka_py").mode("append").options(
        **{"kafka.bootstrap.servers": bootstrap, "topic": topic, "exactlyOnce": "true",
           "transactionalIdPrefix": f"write-{topic}", **options}
    ).save()  # fmt: skip


def writes_are_whole_or_nothing(spark: Any, bootstrap: str, topic: str, partitions: int) -> None:
    """A failed write leaves nothing to read-committed consumers; a named one counts once."""
    number = "cast(id as string) as value"
    frame = spark.range(0, 40, 1, 4).selectExpr(number)
    write(frame, bootstrap, topic)
    assert numbers(bootstrap, topic, partitions) == list(range(40))
    bad = spark.range(40, 80, 1, 4).selectExpr(number, "if(id = 79, 99, 0) as partition")
    with pytest.raises(Exception, match="the column partition is 99"):
        write(bad, bootstrap, topic)
    assert numbers(bootstrap, topic, partitions) == list(range(40))
    assert len(numbers(bootstrap, topic, partitions, "read_uncommitted")) > 40
    for _ in range(2):
        write(spark.range(40, 60, 1, 2).selectExpr(number), bootstrap, topic, writeName="second")
    assert numbers(bootstrap, topic, partitions) == list(range(60))
    write(frame.limit(0), bootstrap, topic)
    assert numbers(bootstrap, topic, partitions) == list(range(60))


def run_stream(spark: Any, bootstrap: str, source: str, target: str, folder: Path, **options: str) -> None:
    """Copies what there is, in micro-batches of ten."""
    reader = spark.readStream.format("kafka_py").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", source).option("startingOffsets", "earliest")
    reader = reader.option("kafka.isolation.level", "read_committed").option("maxOffsetsPerTrigger", "10")
    writer = reader.load().select("value", "partition").writeStream.format("kafka_py").options(
        **{"kafka.bootstrap.servers": bootstrap, "topic": target, "exactlyOnce": "true",
           "checkpointLocation": str(folder), **options}
    )  # fmt: skip
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def a_replayed_batch_is_not_written_again(
    spark: Any, bootstrap: str, source: str, target: str, partitions: int, folder: Path
) -> None:
    """Spark forgets that its last batch is done, as when it is killed before it notes that."""
    feed(bootstrap, source, 0, 30, partitions)
    run_stream(spark, bootstrap, source, target, folder)
    assert numbers(bootstrap, target, partitions) == list(range(30))
    for expected in (30, 50):
        commits = sorted((folder / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        commits[-1].unlink()
        (folder / "commits" / f".{commits[-1].name}.crc").unlink(missing_ok=True)
        feed(bootstrap, source, 30, expected, partitions)
        run_stream(spark, bootstrap, source, target, folder)
        assert numbers(bootstrap, target, partitions) == list(range(expected))
    assert len(numbers(bootstrap, target, partitions, "read_uncommitted")) == 50


def a_mirror_copies_rounds_once(spark: Any, bootstrap: str, topic: str, partitions: int, folder: Path) -> None:
    """The driver is lost after a round is committed, before it notes that; somebody else writes to the copy as well."""
    spec = {
        "source": {"kafka": {"bootstrap.servers": bootstrap}, "topic": topic},
        "target": {"kafka": {"bootstrap.servers": bootstrap}, "prefix": "copy."},
        "state": str(folder), "exactly_once": True, "max_records_per_round": 20,
    }  # fmt: skip
    job = mirror_job.read_mirror(Section(spec), f"mirror-{topic}")
    copy = f"copy.{topic}"
    feed(bootstrap, topic, 0, 30, partitions)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        real = mirror_job._carry_out

        def lost(*arguments: Any) -> int:
            real(*arguments)
            raise KeyboardInterrupt

        patch.setattr(mirror_job, "_carry_out", lost)
        mirror_job.run_mirror(job, spark, Stop())
    assert numbers(bootstrap, copy, partitions) == list(range(20))
    feed(bootstrap, copy, 1000, 1001, 1)
    mirror_job.run_mirror(job, spark, Stop())
    assert numbers(bootstrap, copy, partitions) == [*range(30), 1000]
    assert numbers(bootstrap, copy, partitions, "read_uncommitted") == [*range(30), 1000]
    rounds = list(mirror_job.rounds_of(spark, job.state))
    placed = {}
    with Consumer({"bootstrap.servers": bootstrap, "auto.offset.reset": "earliest"}) as consumer:
        where = TopicPartition(copy, 0)
        consumer.assign([where])
        end = consumer.end_offsets([where])[where]
        while consumer.position(where) < end:
            placed |= {int(record.value): record.offset for record in consumer.poll(0.5)}
    for offset in (0, 9, 10, 14):
        assert mirror_job.translate(rounds, TopicPartition(topic, 0), offset) == placed[offset * partitions]
