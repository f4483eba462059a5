"""What quotas cost: requests of one record with none, and with a thousand budgets in use; memory of a budget.

    python -m benchmarks.quotas [--entities N] [--rounds N]

Runs a broker in this process and hands its dispatcher produce requests of one record, each of another client id, as
connections would: no sockets, so that only the broker's own work is compared. The limits are never reached. CPU time of
the best of several rounds, each in turn without quotas, with a byte rate, and with byte rate and request time. Prints
lines for people.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from functools import partial
from typing import Any

from kafka_py.base.clock import SystemClock
from kafka_py.broker.quotas.client_quotas import ClientQuotas
from kafka_py.broker.quotas.quota_keys import QuotaEntity
from kafka_py.broker.requests.dispatch import Dispatcher
from kafka_py.broker.settings.configs import BrokerConfig
from kafka_py.net.client_software import UNKNOWN_SOFTWARE
from kafka_py.net.frames_out import BlockedTime
from kafka_py.net.principal import ANONYMOUS
from kafka_py.testing.local_broker import LocalBroker, batch
from kafka_py.testing.zookeeper import FakeZookeeper
from kafka_py.wire.frames import encode_request
from kafka_py.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

REQUESTS = 2_000
REQUEST_S = 0.000_03
"""What one of them takes, over a socket."""
LIMITS = {
    "no quota": {},
    "producer_byte_rate": {"producer_byte_rate": "1000000000"},
    "and request_percentage": {"producer_byte_rate": "1000000000", "request_percentage": "100000"},
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
    closed = False
    read_s = 0.0

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self.answered = 0
        self.blocked = BlockedTime(time.monotonic)

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


async def microseconds(broker: LocalBroker, requests: list[bytes]) -> float:
    """CPU time of one request."""
    assert broker.server.dispatcher is not None
    peer = Peer(broker.server.dispatcher)
    assert isinstance(broker.clock, StepClock)
    clock = broker.clock
    began_s = clock.at_s
    gc.collect()
    gc.disable()
    began = time.thread_time_ns()
    for number in range(REQUESTS):
        clock.at_s = began_s + number * REQUEST_S
        broker.server.dispatcher.on_request(peer, number, bytearray(requests[number % len(requests)]))  # type: ignore[arg-type]
    took_ns = time.thread_time_ns() - began
    gc.enable()
    assert peer.answered == REQUESTS
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
        best = dict.fromkeys(brokers, float("inf"))
        for _ in range(rounds):
            for name, broker in brokers.items():
                best[name] = min(best[name], await microseconds(broker, requests))
                await asyncio.sleep(0)
        least = best["no quota"]
        for name, took in best.items():
            print(f"{name:24} {took:7.2f} us a request, {took / least - 1:+.1%}", flush=True)
        for broker in brokers.values():
            await broker.stop()


def memory(entities: int) -> Iterator[str]:
    """What a limit and a budget in use take."""
    for limits in (LIMITS["producer_byte_rate"], LIMITS["and request_percentage"]):
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
    table.add_argument("--rounds", type=int, default=12)
    options = table.parse_args()
    for line in memory(options.entities):
        print(line, flush=True)
    asyncio.run(compare(options.entities, options.rounds))


if __name__ == "__main__":
    main()
