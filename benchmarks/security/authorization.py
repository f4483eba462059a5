"""What an authorizer costs small requests: a broker with ten thousand ACLs beside one that allows everything.

    python -m benchmarks.security.authorization [--acls N] [--rounds N] [--pairs N]

First what a decision costs by itself, in CPU time of this process: one that is remembered, one that is not. Then what
whole Produce requests of one record cost the broker in CPU, the lower quartiles of many short rounds in turn. Two
processes with the same code differ by some percent for as long as they run, so there are several pairs of brokers; the
median of their ratios is the result. Prints lines for people.
"""

from __future__ import annotations

import argparse
import statistics
import time
from types import SimpleNamespace
from typing import Any, cast

from benchmarks import servers
from benchmarks.idempotence import TOPIC, cpu_us, request_us
from kafka_py.clients.admin.client import AdminClient
from kafka_py.net.principal import ANONYMOUS
from kafka_py.security.acls.acl_authorizer import AclAuthorizer
from kafka_py.security.acls.bindings import AclBinding, AclEntry, ResourcePattern
from kafka_py.security.acls.index import AclIndex
from kafka_py.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from kafka_py.testing.topics import create_topic

SETTINGS = {"log.cleaner.enable": "false"}
WITH_ACLS = {
    **SETTINGS,
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
DECISIONS = 100_000
AT_ONCE = 500
IDLE_US = 40_000
"""CPU time of a broker without requests, in two seconds."""


class Client:
    """Who asks."""

    principal = ANONYMOUS
    host = "127.0.0.1"
    request_name = "Produce"


def acls(count: int) -> list[AclBinding]:
    """ACLs of users and topics of their own, every third with a prefix, and one that lets this benchmark write."""
    made = [AclBinding(ResourcePattern(ResourceType.TOPIC, TOPIC), entry(str(ANONYMOUS)))]
    for number in range(count - 1):
        pattern_type = PatternType.LITERAL if number % 3 else PatternType.PREFIXED
        pattern = ResourcePattern(ResourceType.TOPIC, f"topic-{number}", pattern_type)
        made.append(AclBinding(pattern, entry(f"User:user-{number % 100}")))
    return made


def entry(principal: str) -> AclEntry:
    return AclEntry(principal, "*", Operation.WRITE, Permission.ALLOW)


def decisions(count: int) -> None:
    """Prints what one decision costs."""
    index = AclIndex()
    for pattern, each in acls(count):
        index.put(pattern, [each], 0)
    authorizer = AclAuthorizer(cast(Any, SimpleNamespace(index=index)), (), allowed_without_acls=True)
    client = Client()
    took: dict[str, float] = {}
    for what, names in (("remembered", [TOPIC]), ("not remembered", [f"other-{number}" for number in range(15_000)])):
        repeats = DECISIONS // len(names)
        if len(names) == 1:
            authorizer.allows(client, Operation.WRITE, ResourceType.TOPIC, TOPIC)
        began = time.process_time()
        for _ in range(repeats):
            for name in names:
                authorizer.allows(client, Operation.WRITE, ResourceType.TOPIC, name)
            if len(names) > 1:
                authorizer._forget()
        took[what] = (time.process_time() - began) / (repeats * len(names)) * 1e6
    listed = ", ".join(f"{us:.2f} us {what}" for what, us in took.items())
    print(f"a decision among {count:,} ACLs: {listed}", flush=True)


def fill(server: servers.Server, count: int) -> None:
    with AdminClient({"bootstrap.servers": f"127.0.0.1:{server.port}"}) as admin:
        made = acls(count)
        began = time.monotonic()
        for first in range(0, count, AT_ONCE):
            admin.create_acls(made[first : first + AT_ONCE]).all()
        print(f"{count:,} ACLs were created in {time.monotonic() - began:.1f} s", flush=True)
        began = time.monotonic()
        assert len(admin.describe_acls()) == count
        print(f"and described in {time.monotonic() - began:.2f} s", flush=True)


def wait_idle(server: servers.Server) -> None:
    """Returns when the broker has read all changes of ACLs, which it does in the background."""
    while True:
        before = cpu_us(server)
        time.sleep(2)
        if cpu_us(server) - before < IDLE_US:
            return


def compare(connect: str, count: int, rounds: int) -> float:
    """With an authorizer and so many ACLs over without, for one pair of brokers."""
    with (
        servers.broker(f"{connect}/plain", SETTINGS) as plain,
        servers.broker(f"{connect}/guarded", WITH_ACLS) as guarded,
    ):
        for server in (plain, guarded):
            create_topic([f"127.0.0.1:{server.port}"], TOPIC, servers.PARTITIONS)
        fill(guarded, count)
        wait_idle(guarded)
        costs: dict[servers.Server, list[float]] = {plain: [], guarded: []}
        for number in range(rounds):
            for server in (plain, guarded)[:: -1 if number % 2 else 1]:
                costs[server].append(request_us(server, 1, None))
    low, high = (statistics.quantiles(costs[each], n=4)[0] for each in (plain, guarded))
    print(
        f"a request of one record: {low:.1f} us without authorizer, {high:.1f} us with, ratio {high / low:.3f}",
        flush=True,
    )
    return high / low


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--acls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    for count in (10, options.acls):
        decisions(count)
    ratios = []
    with servers.zookeeper() as connect:
        for number in range(options.pairs):
            ratios.append(compare(f"{connect}/{number}", options.acls, options.rounds))
    print(f"the median of {len(ratios)} pairs: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
