"""A whole broker's dispatcher, fed with changed requests of every API in every version.

Each request must be answered, end its connection, or wait for something that can happen; nothing may be logged as an
error, and the broker must go on serving. The broker is one in this process (local_broker.py), replaced now and then,
for among the requests are some that delete its topics or depose its controller.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

from kafka_py.base.slices import FileSlice
from kafka_py.net.client_software import UNKNOWN_SOFTWARE
from kafka_py.net.endpoints import SecurityProtocol
from kafka_py.net.principal import ANONYMOUS, Principal
from kafka_py.testing.fuzz.cases import Case, Findings, run_cases
from kafka_py.testing.fuzz.mutations import MessageMaker
from kafka_py.testing.local_broker import LocalBroker, batch
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.apis import APIS, ApiKey
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.api_versions import ApiVersionsRequest
from kafka_py.wire.messages.find_coordinator import FindCoordinatorRequest
from kafka_py.wire.messages.metadata import MetadataRequest

_TOPICS = ("fuzz-a", "fuzz-b")
_STRINGS = (*_TOPICS, *_TOPICS, "new-topic", "", "retention.ms", "1000", "127.0.0.1", "PLAINTEXT", "0", "ä", "x" * 130)
_SEEDS = 5
_AT_ONCE = 100
"""Inputs between two turns of the loop."""
_PER_BROKER = 10_000
_MOST_WAITING = 0.05
"""The share of requests that may wait for the time-out they gave, which may be far off."""

_STATE_CHANGES = (
    "kafka_py.controller", "kafka_py.replication.role_changes", "kafka_py.broker.settings.live_config",
    "kafka_py.coordinator.groups.driver",
)  # fmt: skip
"""Loggers whose errors without an exception belong to valid requests: replicas assigned to brokers that do not exist,
the real controller deposed by a request that only a controller may send, a setting that nobody knows, a group whose
static members all stay away."""

_SETTINGS = {
    "num.partitions": "2",
    "log.cleaner.enable": "false",
    "log.segment.bytes": "100000",
    "log.index.size.max.bytes": "4096",
    "unclean.leader.election.enable": "true",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
}
_GROUP = "fuzz-group"
_TRANSACTIONAL_ID = "fuzz-transactions"


class _Peer:
    """A connection as the dispatcher sees it. ended: how many requests were answered or ended their connection."""

    def __init__(self) -> None:
        self.listener_name = "PLAINTEXT"
        self.security_protocol = SecurityProtocol.PLAINTEXT
        self.peer_host = "127.0.0.1"
        self.principal: Principal = ANONYMOUS
        self.client_software = UNKNOWN_SOFTWARE
        self.batch_trust: object = None
        self.budgets: object = None
        self.ended = 0

    def respond(self, slot: int, parts: list[bytes | FileSlice] | None, note: object = None) -> None:
        if parts:
            size = sum(len(part) if isinstance(part, bytes) else part.size for part in parts)
            first = parts[0]
            assert isinstance(first, bytes)
            assert struct.unpack_from(">i", first)[0] == size - 4, "the answer's size is wrong"
        self.ended += 1

    def close(self, reason: str) -> None:
        self.ended += 1

    def mute(self) -> None:
        """One request at a time comes over it as it is."""

    unmute = mute

    def long_poll(self, slot: int, end: Callable[[], object]) -> None:
        """A fetch that waits: every other one is ended at once, as by a request behind it."""
        if slot % 2:
            end()

    def describe_client(self, name: str, version: str) -> None:
        """Who is asking does not matter here."""

    def __getattr__(self, name: str) -> Any:
        """What else a connection has; none of it matters here."""
        if name.startswith("__"):
            raise AttributeError(name)
        return 0


class _ErrorsLogged(logging.Handler):
    """Makes a finding of everything that is logged as an error."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(logging.ERROR)
        self._findings = findings
        self.recent: tuple[str, bytes] = ("start", b"")

    def emit(self, record: logging.LogRecord) -> None:
        case, data = self.recent
        if not record.exc_info and record.name.startswith(_STATE_CHANGES):
            return
        if record.exc_info and record.exc_info[1] is not None:
            self._findings.add_error(case, record.exc_info[1], data)
        else:
            self._findings.add(case, f"logged: {record.msg}", record.getMessage(), data)


@contextmanager
def _watching(findings: Findings) -> Iterator[_ErrorsLogged]:
    """Only errors are taken note of, and nothing is printed."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    handler = _ErrorsLogged(findings)
    root.handlers = [handler]
    root.setLevel(logging.ERROR)
    try:
        yield handler
    finally:
        root.handlers = handlers
        root.setLevel(level)


def run_broker(inputs: int, chance: Random, findings: Findings) -> None:
    """Feeds `inputs` changed requests to brokers in this process."""
    while inputs > 0:
        count = min(inputs, _PER_BROKER)
        inputs -= count
        with tempfile.TemporaryDirectory() as folder, _watching(findings) as errors:
            asyncio.run(_one_life(folder, count, chance, findings, errors))
        gc.collect()


async def _one_life(folder: str, inputs: int, chance: Random, findings: Findings, errors: _ErrorsLogged) -> None:
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: findings.add_error("loop", context.get("exception") or Exception(str(context)), b"")
    )
    broker = LocalBroker(folder, FakeZookeeper(), _SETTINGS)
    await broker.start()
    try:
        for topic in _TOPICS:
            await broker.create_topic(topic, partitions=2)
            await broker.produce(topic, batch(b"a", b"b"))
        await _coordinate(broker)
        peer = _Peer()
        cases = _cases(broker, chance, peer, errors)
        chance.shuffle(cases)
        for start in range(0, inputs, _AT_ONCE):
            first = start % len(cases)
            turn = [*cases[first:], *cases[:first]][:_AT_ONCE]
            run_cases(turn, min(_AT_ONCE, inputs - start), chance, findings)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await _check_serving(broker)
        waiting = inputs - peer.ended
        if waiting > max(inputs * _MOST_WAITING, 20):
            findings.add("the broker afterwards", "no answers", f"{waiting} of {inputs} requests have no answer", b"")
    except Exception as error:
        findings.add_error("the broker afterwards", error, b"")
    finally:
        errors.recent = "stop", b""
        await broker.stop()


async def _coordinate(broker: LocalBroker) -> None:
    """Groups and transactions are looked after here from now on, and member ids can be guessed."""
    await broker.ask(FindCoordinatorRequest(key=_GROUP), 3)
    await broker.ask(FindCoordinatorRequest(key=_TRANSACTIONAL_ID, key_type=1), 3)
    coordinators = broker.server.node.coordinators
    for runtime in (coordinators.groups.runtime, coordinators.transactions.store.runtime):
        await broker.until(lambda runtime=runtime: len(runtime.owned) == runtime.partition_count)  # type: ignore[misc]
    numbers = itertools.count()
    coordinators.membership.new_id = lambda: str(next(numbers))


def _cases(broker: LocalBroker, chance: Random, peer: _Peer, errors: _ErrorsLogged) -> list[Case]:
    """A case for each API and version."""
    maker = MessageMaker(chance, _STRINGS, _special(chance))
    dispatcher = broker.server.dispatcher
    assert dispatcher is not None
    on_request = dispatcher.on_request
    slot = 0

    def case(key: ApiKey, version: int) -> Case:
        api = APIS[key]
        name = f"{api.name} v{version}"

        def feed(data: bytearray) -> None:
            nonlocal slot
            errors.recent = name, bytes(data)
            slot += 1
            on_request(peer, slot, data)

        seeds = [encode_request(maker.make(api.request, version), version, 7, "fuzz")[4:] for _ in range(_SEEDS)]
        return Case(name, seeds, feed)

    return [case(key, version) for key, api in APIS.items() for version in range(api.max_version + 1)]


def random_requests(
    chance: Random, count: int, special: Mapping[str, Callable[[], Any]] | None = None
) -> list[bytes]:
    """Requests with random values of every API in every version, in turn, without their sizes.

    special: by field name, what makes its value instead.
    """
    maker = MessageMaker(chance, _STRINGS, {**_special(chance), **(special or {})})
    kinds = [(APIS[key], version) for key in APIS for version in range(APIS[key].max_version + 1)]
    chance.shuffle(kinds)
    return [
        encode_request(maker.make(api.request, version), version, 7, "fuzz")[4:]
        for api, version in itertools.islice(itertools.cycle(kinds), count)
    ]


def _special(chance: Random) -> dict[str, Any]:
    """Values that lead further into the broker than random ones."""
    batches = [batch(b"v"), batch(b"v" * 200, key=b"k"), batch(b"a", b"b") + batch(b"c"), b"", b"x" * 30]
    return {
        "records": lambda: chance.choice(batches),
        "replica_id": lambda: chance.choice((-1, -1, -1, 0, 1)),
        "acks": lambda: chance.choice((-1, 0, 1, 1, 2)),
        "timeout_ms": lambda: chance.choice((-1, 0, 1, 50)),
        "max_wait_ms": lambda: chance.choice((-1, 0, 0, 1, 50)),
        "partition": lambda: chance.choice((0, 0, 1, 2, -1)),
        "partition_index": lambda: chance.choice((0, 0, 1, 2, -1)),
        "fetch_offset": lambda: chance.choice((0, 0, 1, 2, 3, -1, 1 << 40)),
        "max_bytes": lambda: chance.choice((-1, 0, 100, 1 << 20)),
        "resource_type": lambda: chance.choice((2, 2, 4, 4, 8, 0, 99)),
        "controller_epoch": lambda: chance.choice((0, 1, 1, 1)),
        "controller_id": lambda: chance.choice((0, 0, 1)),
        "broker_epoch": lambda: -1,
        "group_id": lambda: chance.choice((_GROUP, _GROUP, _GROUP, "other", "")),
        "member_id": lambda: chance.choice(("", "", f"fuzz-{chance.randrange(30)}", f"i-{chance.randrange(30)}")),
        "group_instance_id": lambda: chance.choice((None, None, "i")),
        "protocol_type": lambda: "consumer",
        "generation_id": lambda: chance.choice((-1, *range(12))),
        "session_timeout_ms": lambda: chance.choice((0, 10, 1000)),
        "rebalance_timeout_ms": lambda: chance.choice((-1, 0, 10, 50)),
        "transactional_id": lambda: chance.choice((_TRANSACTIONAL_ID, _TRANSACTIONAL_ID, _TRANSACTIONAL_ID, "")),
        "transaction_timeout_ms": lambda: chance.choice((0, 10, 1000)),
        "producer_id": lambda: chance.choice((-1, -1, 0, 0, 1, 2)),
        "producer_epoch": lambda: chance.choice((-1, -1, 0, 0, 1, 2, 3)),
    }


async def _check_serving(broker: LocalBroker) -> None:
    """Another connection gets its answers, by the socket."""
    client = await broker.connect()
    try:
        async with asyncio.timeout(20):
            assert (await client.send(ApiVersionsRequest(), 0)).error_code == 0
            await client.send(MetadataRequest(topics=None), 1)
    finally:
        client.close()
