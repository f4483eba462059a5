"""Topics copied from one cluster to another: same partitions, same order, nothing lost or repeated, offsets mapped.

A record is written to the partition of the same number, so records of one key stay in one partition. Each round is
planned, and the plan written down, before anything is copied: where each partition begins and ends at the source, and
where its copy begins at the target. A task that runs again finds at the target how many of its records are there
already, makes sure that the last of them is the one it should be, and continues behind it. So no one else may write to
the copies; a task fails if another writer does. With exactly_once a round is written in transactions: mirror_once.py.

Layout of the state folder: plan-<round>.json before, done-<round>.json after: {"batch", "start", "end", "files": [],
"rows", "target": {topic: {partition: first offset}}, "runs": {"topic-partition": [[source, target, count], ...]}}.
copied-<round>-<try>.json: the runs of a round in transactions, before they are committed.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.base.ids import LATEST_TIMESTAMP, TopicPartition
from kafka_py.clients.admin.client import AdminClient
from kafka_py.clients.admin.topics import NewPartitions, NewTopic
from kafka_py.clients.producer.producer import Producer
from kafka_py.pipeline.committed import commit_offsets, committed_offsets
from kafka_py.pipeline.fetching import RangeReader
from kafka_py.pipeline.jobs.folders import Folder
from kafka_py.pipeline.jobs.spec import Section
from kafka_py.pipeline.jobs.stopping import Stop
from kafka_py.pipeline.links import Link, shared_link
from kafka_py.pipeline.offsets import Offsets, from_nested, limited, to_nested
from kafka_py.pipeline.options import Options, Where
from kafka_py.pipeline.planning import Planner
from kafka_py.pipeline.progress import line
from kafka_py.pipeline.ranges import OffsetRange
from kafka_py.records.columns import Columns

PRODUCER = {"acks": "all", "enable.idempotence": True, "delivery.timeout.ms": 86_400_000, "batch.size": 131_072,
            "linger.ms": 5, "buffer.memory": 64 * 1024 * 1024}  # fmt: skip
"""A record that gave up would leave a hole behind which others might follow: so none gives up."""


class CopiedRun(NamedTuple):
    """`length` records in a row: the one at `source` became the one at `target`, the next the next."""

    source: int
    target: int
    length: int


@dataclass
class Mirror:
    """What the file says."""

    name: str
    options: dict[str, str] = field(repr=False)
    target: dict[str, str] = field(repr=False)
    prefix: str
    state: str
    groups: list[str]
    replication_factor: int
    most: int
    every_s: float | None
    exactly_once: bool = False
    accepts_torn: bool = False


@dataclass
class MirrorRound:
    """One plan and, when it is carried out, what came of it. in_transactions: how; targets are not planned then."""

    number: int
    start: Offsets
    end: Offsets
    target: Offsets
    runs: dict[str, list[CopiedRun]] = field(default_factory=dict)
    in_transactions: bool = False

    def to_json(self) -> str:
        return json.dumps(
            {
                "round": self.number, "start": to_nested(self.start), "end": to_nested(self.end),
                "target": to_nested(self.target), "runs": self.runs, "in_transactions": self.in_transactions,
            }
        )  # fmt: skip

    @classmethod
    def from_json(cls, text: str) -> MirrorRound:
        values = json.loads(text)
        start, end, target = (from_nested(values[name]) for name in ("start", "end", "target"))
        runs = {name: [CopiedRun(*each) for each in found] for name, found in values["runs"].items()}
        return cls(values["round"], start, end, target, runs, values.get("in_transactions", False))

    def next_targets(self) -> Offsets:
        """Where each copy ends when the round is done."""
        return {
            each: first + sum(run.length for run in self.runs.get(str(each), ())) for each, first in self.target.items()
        }


class Task(NamedTuple):
    """One partition's part of a round, for an executor."""

    wanted: OffsetRange
    copy: TopicPartition
    target_start: int
    source_settings: Mapping[str, str]
    target_settings: Mapping[str, str]
    fail_on_data_loss: bool
    timeout_ms: int

    def __repr__(self) -> str:
        return f"<Task {self.wanted} to {self.copy}>"  # without settings, which may have passwords


def read_mirror(spec: Section, name: str) -> Mirror:
    """Raises ConfigError naming the key."""
    source, target = spec.section("source"), spec.section("target")
    exactly_once = spec.flag("exactly_once", False)
    kind = "pattern" if source.has("pattern") else "topic"
    kafka = {f"kafka.{key}": value for key, value in source.settings("kafka").items()}
    if exactly_once:
        kafka.setdefault("kafka.isolation.level", "read_committed")
    options = {**kafka, ("subscribePattern" if kind == "pattern" else "subscribe"): source.text(kind),
               "startingOffsets": "earliest", **source.settings("options")}  # fmt: skip
    job = Mirror(
        name, options, target.settings("kafka"), target.text("prefix", ""), spec.text("state"), spec.texts("groups"),
        int(target.number("replication_factor", 1)), int(spec.number("max_records_per_round", 1_000_000)),
        spec.number("every_s") if spec.has("every_s") else None, exactly_once,
        spec.choice("torn_batch", "fail", "accept", default="fail") == "accept",
    )  # fmt: skip
    source.finish()
    target.finish()
    return job


def run_mirror(job: Mirror, session: Any, stop: Stop) -> int:
    """Rounds until all is copied (or forever, with every_s); returns the records copied now."""
    folder = Folder(session, job.state)
    options = Options(job.options, Where.STREAM)
    source, target = Link(options.client_settings("driver")), Link(job.target)
    total = 0
    try:
        planner = Planner(source, options)
        last, plan = _recall(folder)
        while not stop.asked:
            if plan is None:
                plan = _plan(job, planner, target, last)
                if plan is None:
                    _map_groups(job, folder, source, target)
                    if job.every_s is None:
                        break
                    stop.wait(job.every_s)
                    continue
                folder.write(f"plan-{plan.number:012d}.json", plan.to_json())
            begun = time.monotonic()
            copied = _carry_out(job, options, session, plan, folder)
            folder.write(f"done-{plan.number:012d}.json", plan.to_json())
            latest = planner.latest(list(plan.end))
            lags = {each: max(0, latest[each] - at) for each, at in plan.end.items()}
            print(line(job.name, plan.number, copied, time.monotonic() - begun, lags), flush=True)
            total, last, plan = total + copied, plan, None
        _map_groups(job, folder, source, target)
    finally:
        source.close()
        target.close()
    return total


def _recall(folder: Folder) -> tuple[MirrorRound | None, MirrorRound | None]:
    """The last round that was done, and one that was planned after it."""
    names = folder.names()
    done = [name for name in names if name.startswith("done-")]
    plans = [name for name in names if name.startswith("plan-")]
    last = MirrorRound.from_json(folder.read(done[-1])) if done else None
    plan = MirrorRound.from_json(folder.read(plans[-1])) if plans else None
    return last, plan if plan is not None and (last is None or plan.number > last.number) else None


def _plan(job: Mirror, planner: Planner, target: Link, last: MirrorRound | None) -> MirrorRound | None:
    """The next round; None when there is nothing new."""
    partitions = planner.partitions()
    done = {} if last is None else last.end
    fresh = [each for each in partitions if each not in done]
    start = {**done, **(planner.starts(fresh) if last is None else planner.earliest(fresh) if fresh else {})}
    start = {each: start[each] for each in partitions}
    latest = planner.latest(partitions)
    for each in partitions:
        if latest[each] < start[each]:
            planner.ends_early(each, latest[each], start[each])
            latest[each] = start[each]
    end = limited(start, latest, job.most)
    if end == start and last is not None:
        return None
    _make_topics(job, partitions)
    copies = {each: _copy(job, each) for each in partitions}
    number = 0 if last is None else last.number + 1
    if job.exactly_once:
        return MirrorRound(number, start, end, {}, in_transactions=True)
    known = {} if last is None or last.in_transactions else last.next_targets()
    ends = target.ends([copies[each] for each in partitions if each not in known], LATEST_TIMESTAMP)
    targets = {each: known[each] if each in known else ends[copies[each]] for each in partitions}
    return MirrorRound(number, start, end, targets)


def _copy(job: Mirror, partition: TopicPartition) -> TopicPartition:
    return TopicPartition(f"{job.prefix}{partition.topic}", partition.partition)


def _make_topics(job: Mirror, partitions: Iterable[TopicPartition]) -> None:
    """Every copy has at least the partitions of its original."""
    counts: dict[str, int] = {}
    for each in partitions:
        name = _copy(job, each).topic
        counts[name] = max(counts.get(name, 0), each.partition + 1)
    with AdminClient(job.target) as admin:
        there = admin.list_topics()
        missing = [NewTopic(name, count, job.replication_factor) for name, count in counts.items() if name not in there]
        if missing:
            admin.create_topics(missing).all()
        described = admin.describe_topics([name for name in counts if name in there]).all()
        few = {
            name: NewPartitions(counts[name]) for name, each in described.items() if len(each.partitions) < counts[name]
        }
        if few:
            admin.create_partitions(few).all()


def _carry_out(job: Mirror, options: Options, session: Any, plan: MirrorRound, folder: Folder) -> int:
    """Runs one task per partition with anything to copy; fills in the plan's runs."""
    tasks = [
        Task(
            OffsetRange(*each, plan.start[each], end), _copy(job, each), plan.target.get(each, 0),
            options.client_settings("mirror"), job.target, options["failOnDataLoss"],
            options["kafkaConsumer.pollTimeoutMs"],
        )
        for each, end in plan.end.items()
        if end > plan.start[each]
    ]  # fmt: skip
    if plan.in_transactions:
        from kafka_py.pipeline.jobs.mirror_once import copy_once

        plan.runs = copy_once(
            job.name, tasks, session, folder, plan.number, accepts_torn=job.accepts_torn
        )
    elif tasks:
        found = session.sparkContext.parallelize(tasks, len(tasks)).map(copy_range).collect()
        plan.runs = {str(task.wanted.topic_partition): runs for task, runs in zip(tasks, found, strict=True)}
    return sum(run.length for runs in plan.runs.values() for run in runs)


def copy_range(task: Task) -> list[CopiedRun]:
    """Copies one range, or what is left of it; runs in an executor. Raises KafkaError naming the partition."""
    target = shared_link(task.target_settings)
    there = target.ends([task.copy], LATEST_TIMESTAMP)[task.copy] - task.target_start
    if there < 0:
        raise _disturbed(task, f"its copy ends {-there} records before offset {task.target_start}")
    reader = RangeReader(
        shared_link(task.source_settings), task.wanted, fetch_bytes=1 << 20, timeout_ms=task.timeout_ms,
        fail_on_data_loss=task.fail_on_data_loss,
    )  # fmt: skip
    runs: list[CopiedRun] = []
    count = 0
    failures: list[KafkaError] = []
    with Producer({**PRODUCER, **task.target_settings}) as producer:
        for columns in reader:
            _add_runs(runs, columns, task.target_start + count)
            skip = max(0, min(columns.record_count, there - count))
            if skip and count + skip == there:
                _check_last(task, target, columns, skip - 1, task.target_start + there - 1)
            _send(producer, task.copy, columns, skip, failures)
            count += columns.record_count
            if failures:
                raise failures[0]
        producer.flush()
    if failures:
        raise failures[0]
    if count < there:
        raise _disturbed(task, f"its copy holds {there} records of this round, which has {count}")
    end = target.ends([task.copy], LATEST_TIMESTAMP)[task.copy]
    if end != task.target_start + count:
        raise _disturbed(task, f"its copy ends at offset {end}, not {task.target_start + count}")
    return runs


def _disturbed(task: Task, what: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_RECORD,
        f"{task.wanted.topic_partition} cannot be copied to {task.copy}: {what}. Is there another writer?",
    )


def _add_runs(runs: list[CopiedRun], columns: Columns, target: int) -> None:
    """Notes where the records go, joined to the run before where there is no gap."""
    import numpy as np

    offsets = columns.offsets
    breaks = [0, *(np.flatnonzero(np.diff(offsets) != 1) + 1).tolist(), len(offsets)]
    for low, high in itertools.pairwise(breaks):
        source = int(offsets[low])
        last = runs[-1] if runs else None
        if last is not None and last.source + last.length == source and last.target + last.length == target + low:
            runs[-1] = last._replace(length=last.length + high - low)
        else:
            runs.append(CopiedRun(source, target + low, high - low))


def _send(producer: Producer, copy: TopicPartition, columns: Columns, skip: int, failures: list[KafkaError]) -> None:
    def note(_metadata: object, error: KafkaError | None) -> None:
        if error is not None:
            failures.append(error)

    headers = columns.headers()
    timestamps = columns.timestamps.tolist()
    send = producer.send
    for index in range(skip, columns.record_count):
        send(copy.topic, columns.value(index), columns.key(index), copy.partition, timestamps[index],
             headers[index] or None, note)  # fmt: skip


def _check_last(task: Task, target: Link, columns: Columns, index: int, at: int) -> None:
    """Whether the copy's last record is the one it should be."""
    wanted = OffsetRange(*task.copy, at, at + 1)
    found = next(iter(RangeReader(target, wanted, fetch_bytes=1 << 20, timeout_ms=task.timeout_ms,
                                  fail_on_data_loss=True)), None)  # fmt: skip
    if found is None or (found.key(0), found.value(0)) != (columns.key(index), columns.value(index)):
        raise _disturbed(task, f"the record at offset {at} is not the one that was copied there")


# ---- offsets


def rounds_of(session: Any, state: str) -> Iterator[MirrorRound]:
    """All rounds done, oldest first."""
    folder = Folder(session, state)
    for name in folder.names():
        if name.startswith("done-"):
            yield MirrorRound.from_json(folder.read(name))


def translate(rounds: Iterable[MirrorRound], partition: TopicPartition, offset: int) -> int | None:
    """The copy's offset for an offset of the original, None where nothing up to it was copied.

    For an offset in a gap, or past what was copied: that behind the last record before it.
    """
    found = None
    for each in rounds:
        for run in each.runs.get(str(partition), ()):
            if run.source > offset:
                return found if found is not None else run.target
            found = run.target + min(run.length, offset - run.source)
    return found


def _map_groups(job: Mirror, folder: Folder, source: Link, target: Link) -> None:
    """Commits at the target where the groups of the file are at the source."""
    if not job.groups:
        return
    rounds = [MirrorRound.from_json(folder.read(name)) for name in folder.names() if name.startswith("done-")]
    for group in job.groups:
        mapped: Offsets = {}
        for partition, offset in committed_offsets(source, group).items():
            at = translate(rounds, partition, offset)
            if at is not None:
                mapped[_copy(job, partition)] = at
        commit_offsets(target, group, mapped)
