"""The writers that Spark asks the data source for."""

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark.sql.types import StructType

from kafka_py.base.errors import ConfigError
from kafka_py.pipeline.exactly_once.batches import OnceBatches
from kafka_py.pipeline.source import KafkaSource

OPTIONS = {"kafka.bootstrap.servers": "h:1", "topic": "t"}
ONCE = {**OPTIONS, "exactlyonce": "true", "transactionalidprefix": "p"}
VALUES = StructType().add("value", "binary")


@pytest.fixture
def begun(monkeypatch):
    """The batches that have begun."""
    found = []
    monkeypatch.setattr(OnceBatches, "begin", lambda once: found.append(once))
    return found


def test_a_batch_write_begins_at_once_and_is_not_a_whole_micro_batch(begun):
    """In foreachBatch a write has the properties of a micro-batch, and is one of several."""
    sink = KafkaSource(ONCE).writer(VALUES, overwrite=False)
    assert begun == [sink._once]
    assert not sink._once.is_stream


def test_a_micro_batch_begins_where_tasks_are_planned_only(begun):
    sink = KafkaSource(ONCE).streamWriter(VALUES, overwrite=False)
    assert sink._once.is_stream
    assert begun == []


def test_without_exactly_once_there_is_no_batch_and_nothing_is_overwritten(begun):
    assert KafkaSource(OPTIONS).writer(VALUES, overwrite=False)._once is None
    assert KafkaSource(OPTIONS).streamWriter(VALUES, overwrite=False)._once is None
    with pytest.raises(ConfigError, match="cannot be overwritten"):
        KafkaSource(OPTIONS).writer(VALUES, overwrite=True)
