"""What quotas cost: requests of one record with none, and with a thousand budgets in use; memory of a budget.

    python -m benchmarks.limits.quotas [--entities N] [--rounds N] [--short]

First runs a broker in this process and hands its dispatcher produce requests of one record, each of another client id,
as connections would: no sockets, so that only the dispatcher's own work is compared; CPU time of the best of several
rounds. Then brokers of their own, and the CPU of one for a Produce and for a Fetch of one record, each client on a
connection of its own: the median of several rounds, each with all brokers in turn. One has no quotas, the others
byte rates, or byte rates and request time; the limits are never reached. A second one without quotas shows how far
equal brokers differ. Prints lines for people.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.idempotence import cpu_us
from benchmarks.load import Stream, connect, run
from benchmarks.protocol import Refused
from benchmarks.servers import Server, broker, zookeeper
from kafka_py.base.clock import SystemClock
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.quota_keys import QuotaEntity
from kafka_py.broker.requests.dispatch import Dispatcher
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.clients.admin.client import AdminClient
from kafka_py.net.client_software import UNKNOWN_SOFTWARE
from kafka_py.net.frames_out import BlockedTime
from kafka_py.net.principal import ANONYMOUS
from kafka_py.testing.local_broker import LocalBroker, batch
from kafka_py.testing.topics import create_topic
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

REQUESTS, TIMEOUT_S = 4_000, 60
SOCKET_REQUESTS = 40_000
"""Over sockets, in a round: some seconds, in which each client has its requests of a second many times over, and what
other brokers had in the processor's caches no longer matters."""
REQUEST_S = 0.000_03
"""What one of them takes, over a socket."""
BYTES = {"producer_byte_rate": "1000000000", "consumer_byte_rate": "1000000000"}
LIMITS = {
    "no quota": {},
    "byte rates": BYTES,
    "and request_percentage": {**BYTES, "request_percentage": "100000"},
}  # fmt: skip


class StepClock(SystemClock):
    """Each request moves it on, so that other work takes no time. As cheap to ask as the machine's."""

    def __init__(self) -> None:
        self.at_s = time.monotonic()
        self.monotonic_s = partial(getattr, self, "at_s")  # type: ignore[method-assign]

    def monotonic_ms(self) -> float:
        return self.at_s * 1000.0


class Peer:
    """A connection whose responses are counted and dropped."""

    listener_name, peer_host, peer_port = "PLAINTEXT", "h", 1
    principal = ANONYMOUS
    client_software = UNKNOWN_SOFTWARE
    batch_trust: object = None
    budgets: Any = None
    closed = False
    read_s = 0.0

    def __init__(self, dispatcher: Dispatcher | None) -> None:
        assert dispatcher is not None
        self._dispatcher = dispatcher
        self.answered = 0
        self.blocked: BlockedTime | None = None

    def respond(self, slot: int, parts: Any, note: Any = None) -> None:
        self.answered += 1
        self._dispatcher.on_sent([note], note.answered_s, note.answered_s)

    def mute(self) -> None:
        raise AssertionError("the limit was reached")

    def close(self, reason: str) -> None:
        raise AssertionError(reason)


def frames(entities: int) -> list[bytes]:
    """A request of one record from each client."""
    records = batch(b"x" * 100, timestamp=int(time.time() * 1000))
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=records)])]
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=data)
    return [bytes(encode_request(request, 8, 1, name_of(number))[4:]) for number in range(entities)]


def name_of(number: int) -> str:
    return f"client-{number:06}"


async def microseconds(broker: LocalBroker, peers: list[Peer], requests: list[bytes]) -> float:
    """CPU time of one request; a peer for each client."""
    assert broker.server.dispatcher is not None
    answered = sum(peer.answered for peer in peers)
    assert isinstance(broker.clock, StepClock)
    clock = broker.clock
    began_s = clock.at_s
    gc.collect()
    gc.disable()
    began = time.thread_time_ns()
    for number in range(REQUESTS):
        clock.at_s = began_s + number * REQUEST_S
        at = number % len(requests)
        broker.server.dispatcher.on_request(peers[at], number, bytearray(requests[at]))  # type: ignore[arg-type]
    took_ns = time.thread_time_ns() - began
    gc.enable()
    assert sum(peer.answered for peer in peers) == answered + REQUESTS
    return took_ns / REQUESTS / 1000


async def compare(entities: int, rounds: int) -> None:
    requests = frames(entities)
    with tempfile.TemporaryDirectory() as folder:
        brokers = {}
        for number, (name, limits) in enumerate(LIMITS.items()):
            brokers[name] = broker = LocalBroker(f"{folder}/{number}", FakeZookeeper(), {}, clock=StepClock())
            await broker.start()
            await broker.create_topic("t")
            for each in range(entities if limits else 0):
                entity = QuotaEntity(None, name_of(each))
                for _ in broker.server.node.quotas.applying(entity, limits):
                    pass
        peers = {name: [Peer(broker.server.dispatcher) for _ in requests] for name, broker in brokers.items()}
        best = dict.fromkeys(brokers, float("inf"))
        for _ in range(rounds):
            for name, broker in brokers.items():
                best[name] = min(best[name], await microseconds(broker, peers[name], requests))
                await asyncio.sleep(0)
        least = best["no quota"]
        for name, took in best.items():
            print(f"{name:24} {took:7.2f} us a request, {took / least - 1:+.1%}", flush=True)
        for broker in brokers.values():
            await broker.stop()


def fetches(entities: int) -> list[bytes]:
    """A request for one record from each client."""
    wanted = FetchPartition(partition=0, fetch_offset=5, partition_max_bytes=1)
    request = FetchRequest(
        replica_id=-1, max_wait_ms=500, min_bytes=1, topics=[FetchTopic(topic="t", partitions=[wanted])]
    )
    return [bytes(encode_request(request, 11, 1, name_of(number))[4:]) for number in range(entities)]


def accepted(body: memoryview) -> None:
    error = int.from_bytes(body[4 + 4 + 2 + 1 + 4 + 4 :][:2], "big")
    if error:
        raise Refused(f"produce: error {error}")


def has_record(body: memoryview) -> None:
    if b"x" * 100 not in bytes(body):
        raise Refused("fetch: no record")


KINDS = {"Produce": (frames, accepted), "Fetch": (fetches, has_record)}
"""The requests of all clients, and what checks the first response."""


def connect_all(server: Server, kind: str, entities: int) -> list[Stream]:
    """A connection for each client."""
    made = []
    requests, check = KINDS[kind]
    for number, each in enumerate(requests(entities)):
        made.append(Stream(connect(server.port), [len(each).to_bytes(4, "big") + each], 1, check))
        if number % 100 == 0:
            time.sleep(0.01)  # the queue of the listener is short
    return made


def broker_us(server: Server, streams: list[Stream]) -> float:
    """The broker's CPU for one request."""
    before, answers = cpu_us(server), sum(stream.answers for stream in streams)
    for stream in streams:
        stream.depth = 1
    run(streams, TIMEOUT_S, SOCKET_REQUESTS)
    return (cpu_us(server) - before) / (sum(stream.answers for stream in streams) - answers)


def compare_brokers(entities: int, rounds: int) -> None:
    """Prints what a request costs each broker, and by how much more than the first one in the same round."""
    with zookeeper() as connect, contextlib.ExitStack() as stack:
        brokers, streams = {}, {}
        for name, limits in {"no quota": {}, **LIMITS, "no quota, another broker": {}}.items():
            brokers[name] = server = stack.enter_context(broker(connect, {"log.cleaner.enable": "false"}))
            create_topic([f"127.0.0.1:{server.port}"], "t", 1)
            if limits:
                with AdminClient({"bootstrap.servers": f"127.0.0.1:{server.port}"}) as admin:
                    wanted = {key: float(value) for key, value in limits.items()}
                    entity = (("client-id", name_of(number)) for number in range(entities))
                    admin.alter_client_quotas({(each,): wanted for each in entity}).all()
            for kind in KINDS:
                streams[name, kind] = connect_all(server, kind, entities)
        for kind in KINDS:
            costs: dict[str, list[float]] = {name: [] for name in brokers}
            names = list(brokers)
            for number in range(rounds + 1):
                for name in names[:: -1 if number % 2 else 1]:
                    took = broker_us(brokers[name], streams[name, kind])
                    if number:  # the first round warms up
                        costs[name].append(took)
            for name, found in costs.items():
                ratios = [one / other for one, other in zip(found, costs["no quota"], strict=True)]
                print(f"{kind:8} {name:24} {statistics.median(found):7.2f} us a request over a socket, "
                      f"{statistics.median(ratios) - 1:+.1%}", flush=True)  # fmt: skip


def memory(entities: int) -> Iterator[str]:
    """What a limit and a budget in use take."""
    for limits in ({"producer_byte_rate": "1000000000"}, LIMITS["and request_percentage"]):
        quotas = ClientQuotas(BrokerConfig.parse({"zookeeper.connect": "z"}))
        names = [name_of(number) for number in range(entities)]
        gc.collect()
        tracemalloc.start()
        for name in names:
            for _ in quotas.applying(QuotaEntity(None, name), limits):
                pass
            quotas.produce.budget_of((ANONYMOUS, name)).charge(100, 0.0)
            if quotas.request.is_on:
                quotas.request.budget_of((ANONYMOUS, name)).charge(0.1, 0.0)
        for second in range(1, 12):  # all samples of each window in use
            for name in names:
                quotas.produce.budget_of((ANONYMOUS, name)).charge(100, second * 1000.0)
                if quotas.request.is_on:
                    quotas.request.budget_of((ANONYMOUS, name)).charge(0.1, second * 1000.0)
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        yield f"{' and '.join(limits)}: {used / entities:.0f} bytes an entity in use"


def main() -> None:
    table = argparse.ArgumentParser(description=__doc__)
    table.add_argument("--entities", type=int, default=1000)
    table.add_argument("--rounds", type=int, default=10)
    table.add_argument("--short", action="store_true", help="without brokers of their own")
    options = table.parse_args()
    for line in memory(options.entities):
        print(line, flush=True)
    asyncio.run(compare(options.entities, 12))
    if not options.short:
        compare_brokers(options.entities, options.rounds)


if __name__ == "__main__":
    main()
