"""The tools that consume end wherever a signal strikes them, with what they read accounted for."""

import functools
import io
import itertools
import json
import signal
import sys
import threading

import pytest

from kafka_py.base.ids import TopicPartition
from kafka_py.cli import console_consumer
from kafka_py.cli.verification import verifiable_consumer
from kafka_py.clients.consumer import consumer as consumers
from kafka_py.records.builder import BatchBuilder
from kafka_py.testing.fakes.memory_wire import GroupOfOne, MemoryCluster, MemoryWires
from kafka_py.testing.interrupts import InterruptAt

T0 = TopicPartition("t", 0)
RECORDS = 10
FILES = (
    "cli/console_consumer.py", "verification/verifiable_consumer.py", "verification/json_events.py",
    "common/termination.py", "consumer/consumer.py", "consumer/calling_thread.py", "clients/loop.py",
    "clients/waiting.py", "clients/delegation.py", "/contextlib.py", "/asyncio/base_events.py",
)  # fmt: skip
TOPIC = ["--topic", "t", "--bootstrap-server", "h:9092", "--max-messages", "7"]
ALL_EVENTS = [
    "startup_complete", "partitions_assigned", "records_consumed", "offsets_committed", "partitions_revoked",
    "shutdown_complete",
]  # fmt: skip
ENDS_WITHIN_S = 30
INTERRUPTED = 130
TERMINATED = 143
CONSUMER = consumers.Consumer

pytestmark = [
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited"),  # a signal before the call had begun
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class World:
    """A topic with ten records, and what is left of a run of a tool in it: exit code, output, committed offset."""

    def __init__(self, monkeypatch, main, arguments, moment):
        cluster = MemoryCluster()
        cluster.create_topic("t")
        builder = BatchBuilder()
        for number in range(RECORDS):
            builder.append(number, None, b"x", ())
        cluster.partitions[T0].append(builder.build())
        GroupOfOne(cluster)
        environment = MemoryWires(cluster).environment()
        monkeypatch.setattr(consumers, "Consumer", functools.partial(CONSUMER, environment=environment))
        monkeypatch.setattr(sys, "stdout", out := io.TextIOWrapper(io.BytesIO(), write_through=True))
        interrupt = InterruptAt(moment, FILES, lambda: signal.raise_signal(signal.SIGINT))
        late = threading.Timer(ENDS_WITHIN_S, signal.pthread_kill, (threading.get_ident(), signal.SIGALRM))
        late.daemon = True
        late.start()
        try:
            with interrupt:
                self.code = main(arguments)
        except KeyboardInterrupt:
            self.code = INTERRUPTED  # before the tool has its own handler, or when it is done
        late.cancel()
        self.came = interrupt.came
        self.lines = out.buffer.getvalue().decode().splitlines()
        self.committed = cluster.groups["g"].offsets.get(T0, (0,))[0] if "g" in cluster.groups else 0


@pytest.fixture
def interrupted(monkeypatch):
    """Runs a tool, with SIGINT at one moment after the other, until there is none more; the last run has no SIGINT."""
    monkeypatch.setattr(verifiable_consumer, "log_warnings", lambda: None)
    monkeypatch.setattr(console_consumer, "log_warnings", lambda: None)

    def hangs(_number, _frame):
        raise AssertionError("the tool has not ended")

    def worlds(main, *arguments):
        for moment in itertools.count(1):
            world = World(monkeypatch, main, [*TOPIC, *arguments], moment)
            # The tools end by SIGTERM too, so a time limit around the tests would look like a wrong exit code.
            assert world.code != TERMINATED, "these tests were terminated from outside"
            assert world.code == (INTERRUPTED if world.came else 0), (moment, world.lines)
            yield world
            if not world.came:
                break

    before = signal.signal(signal.SIGALRM, hangs)
    yield worlds
    signal.signal(signal.SIGALRM, before)


def test_the_verifiable_consumer_gives_its_partitions_back_and_prints_what_it_did_to_the_end(interrupted):
    moments = 0
    for world in interrupted(verifiable_consumer.main, "--group-id", "g"):
        moments += 1
        events = [json.loads(line)["name"] for line in world.lines]
        assert ("partitions_assigned" in events) == ("partitions_revoked" in events), (moments, events)
        assert events == [] or events[-1] == "shutdown_complete", (moments, events)
        assert world.committed == (7 if "offsets_committed" in events else 0)
    assert events == ALL_EVENTS
    assert moments > 100


def test_the_console_consumer_commits_no_record_that_it_has_not_printed(interrupted):
    moments, done = 0, []
    for world in interrupted(console_consumer.main, "--group", "g", "--from-beginning"):
        moments += 1
        done.append((len(world.lines), world.committed))
        assert world.committed <= len(world.lines), moments
    assert done[-1] == (7, 7)
    assert (0, 0) in done and moments > 100
