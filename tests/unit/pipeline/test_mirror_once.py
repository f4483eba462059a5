"""A mirror's round in transactions: where records came to be, and what is written down before it is committed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from kafka_py.base.errors import ConfigError, ErrorCode, KafkaError
from kafka_py.base.ids import TopicPartition
from kafka_py.clients.producer.batches import RecordMetadata
from kafka_py.pipeline.exactly_once.batches import OnceBatches
from kafka_py.pipeline.exactly_once.decisions import Decision, Driver
from kafka_py.pipeline.exactly_once.protocol import Start
from kafka_py.pipeline.jobs import mirror_once
from kafka_py.pipeline.jobs.mirror import CopiedRun, MirrorRound, Task, read_mirror
from kafka_py.pipeline.jobs.mirror_once import Copied, copy_once
from kafka_py.pipeline.jobs.spec import Section
from kafka_py.pipeline.ranges import OffsetRange

COPY = TopicPartition("copy.t", 0)


class EchoProducer:
    """Acknowledges each record at the next of its offsets."""

    def __init__(self, *offsets):
        self.offsets = list(offsets)

    def send(self, topic, value, key, partition, *rest):
        rest[-1](RecordMetadata(topic, partition, self.offsets.pop(0), 0, 0, 0), None)


class PlainColumns:
    """Records at these offsets."""

    def __init__(self, *offsets):
        self.offsets = np.array(offsets, np.int64)
        self.timestamps = np.zeros(len(offsets), np.int64)
        self.record_count = len(offsets)

    def headers(self):
        return [()] * self.record_count

    def key(self, index):
        return None

    value = key


def test_runs_break_where_either_side_has_a_gap():
    copied, producer = Copied(COPY), EchoProducer(100, 101, 103, 104, 105)
    copied.send(producer, PlainColumns(5, 6, 7))
    copied.send(producer, PlainColumns(8, 11))
    assert copied.runs() == [CopiedRun(5, 100, 2), CopiedRun(7, 103, 2), CopiedRun(11, 105, 1)]
    assert copied.last_offsets() == {COPY: 105}


def test_nothing_copied_is_no_run_and_a_failure_names_the_copy():
    copied = Copied(COPY)
    copied.check()
    assert (copied.runs(), copied.last_offsets()) == ([], {})
    copied.note(None, KafkaError(ErrorCode.PRODUCER_FENCED, "newer"))
    copied.note(None, KafkaError(ErrorCode.NETWORK_EXCEPTION, "later"))
    with pytest.raises(KafkaError, match=r"PRODUCER_FENCED.*copy\.t-0.*newer"):
        copied.check()


class MemoryFolder:
    def __init__(self):
        self.files = {}

    def exists(self, name):
        return name in self.files

    def names(self):
        return sorted(self.files)

    def read(self, name):
        return self.files[name]

    def write(self, name, text):
        assert name not in self.files
        self.files[name] = text


class LocalSpark:
    """One process: `map` runs where it is called."""

    def __init__(self, runs):
        self.sparkContext = self
        self.runs = runs

    def parallelize(self, tasks, count):
        assert len(tasks) == count
        return self

    def map(self, function):
        return self

    def collect(self):
        return [(self.runs, "report")]


@pytest.fixture
def calls(monkeypatch):
    """What the driver does about the batch, in its order; `decided` is what it finds."""
    made = []
    decided = {}

    def begin(self):
        made.append("begin")
        self.start = Start(Driver(1, 1), decided, {}, 0)

    monkeypatch.setattr(OnceBatches, "begin", begin)
    monkeypatch.setattr(OnceBatches, "commit", lambda self, reports: made.append(("commit", reports)))
    monkeypatch.setattr(OnceBatches, "abort", lambda self: made.append("abort"))
    made.append(decided)
    return made


TASK = Task(OffsetRange("t", 0, 0, 9), COPY, 0, {}, {"bootstrap.servers": "h:1"}, True, 1)


def test_where_records_are_is_written_down_before_the_round_is_committed(calls, monkeypatch):
    decided, folder, runs = calls.pop(), MemoryFolder(), [CopiedRun(0, 5, 9)]
    assert copy_once("m", [], None, folder, 0) == {}
    assert copy_once("m", [TASK], LocalSpark(runs), folder, 4) == {"t-0": runs}
    assert calls == ["begin", ("commit", ["report"])]
    assert [name for name in folder.names() if name.startswith("copied")] == ["copied-000000000004-000000.json"]
    scope = folder.read("scope")
    decided[scope] = Decision(scope, 4, True)
    assert copy_once("m", [TASK], None, folder, 4) == {"t-0": runs}
    assert calls[2:] == ["begin"]


def test_a_round_that_fails_is_rolled_back_and_the_last_try_counts(calls, monkeypatch):
    decided, folder = calls.pop(), MemoryFolder()

    def fail(self, reports):
        raise KafkaError(ErrorCode.INVALID_TXN_STATE, "lost")

    monkeypatch.setattr(OnceBatches, "commit", fail)
    for runs in ([CopiedRun(0, 5, 9)], [CopiedRun(0, 20, 9)]):
        with pytest.raises(KafkaError, match="lost"):
            copy_once("m", [TASK], LocalSpark(runs), folder, 4)
    assert calls == ["begin", "abort"] * 2
    decided[folder.read("scope")] = Decision(folder.read("scope"), 4, True)
    assert copy_once("m", [TASK], None, folder, 4) == {"t-0": [CopiedRun(0, 20, 9)]}


@pytest.mark.parametrize("accepts", [True, False])
def test_a_torn_round_is_accepted_with_a_key_of_the_file(calls, monkeypatch, accepts):
    spec = {"source": {"kafka": {}, "topic": "t"}, "target": {"kafka": {}}, "state": "s", "exactly_once": True}
    job = read_mirror(Section({**spec, **({"torn_batch": "accept"} if accepts else {})}), "m")
    seen = []
    monkeypatch.setattr(OnceBatches, "commit", lambda self, reports: seen.append(self.accepts_torn))
    copy_once("m", [TASK], LocalSpark([]), MemoryFolder(), 0, accepts_torn=job.accepts_torn)
    assert seen == [accepts]
    with pytest.raises(ConfigError, match="torn_batch must be one of fail, accept, not 'no'"):
        read_mirror(Section({**spec, "torn_batch": "no"}), "m")


def test_another_folder_is_another_mirror():
    one, two = MemoryFolder(), MemoryFolder()
    assert mirror_once._scope(one) == mirror_once._scope(one) != mirror_once._scope(two)


def test_a_mirror_in_transactions_reads_what_is_committed():
    spec = {"source": {"kafka": {"bootstrap.servers": "h:1"}, "topic": "t"}, "target": {"kafka": {}}, "state": "s"}
    job = read_mirror(Section({**spec, "exactly_once": True}), "m")
    assert job.exactly_once
    assert job.options["kafka.isolation.level"] == "read_committed"
    assert "kafka.isolation.level" not in read_mirror(Section(spec), "m").options
    done = MirrorRound(3, {}, {}, {}, {"t-0": [CopiedRun(1, 2, 3)]}, in_transactions=True)
    assert MirrorRound.from_json(done.to_json()) == done
