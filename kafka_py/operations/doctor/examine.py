"""Runs all probes: first the way to the bootstrap servers, then the advertised addresses, then the cluster itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.clients.configs import parse_server
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.clients.metadata import Node
from kafka_py.clients.security import tls_settings
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.doctor.clocks_probe import look_at_clocks
from kafka_py.operations.doctor.disks_probe import disks_of
from kafka_py.operations.doctor.examination import CertificateSeen, ClockSeen, Examination, MetricsSeen, Reached
from kafka_py.operations.doctor.metrics_probe import look_at_pages
from kafka_py.operations.doctor.reaching import Approach, reach
from kafka_py.operations.doctor.settings_probe import broker_settings, topic_settings
from kafka_py.operations.doctor.tls_probe import TlsProbe
from kafka_py.operations.doctor.zookeeper_probe import look_at_zookeepers

AT_ONCE = 16
PARTS = (ViewPart.VERSIONS, ViewPart.TOPICS, ViewPart.LOG_DIRS)
LOG_APPEND_TIME = "LogAppendTime"


@dataclass(frozen=True, slots=True)
class DoctorRequest:
    """What to look at.

    configs: of an admin client, bootstrap.servers included. zookeeper: a connect string. metrics: addresses of pages.
    client_files: settings by file name. clock_topic: takes a record for each broker to compare clocks. timeout_s: of
    each step.
    """

    configs: Mapping[str, Any] = field(repr=False)  # with passwords
    zookeeper: str | None = None
    metrics: Sequence[str] = ()
    client_files: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    clock_topic: str | None = None
    timeout_s: float = 5.0


class _ClusterSeen(NamedTuple):
    """What was seen of the cluster itself."""

    snapshot: ClusterSnapshot
    brokers: Mapping[int, Mapping[str, str | None]]
    topics: Mapping[str, Mapping[str, str | None]]
    foreign: Mapping[int, str]
    clocks: tuple[ClockSeen, ...]
    unchecked: list[str]


async def examine(request: DoctorRequest, environment: ClientEnvironment = SYSTEM) -> Examination:
    """Looks at everything. Raises ConfigError for settings that cannot be used."""
    options = AdminOptions.load(request.configs)
    approach = Approach(options, environment, request.timeout_s)
    servers = [parse_server(server) for server in options.bootstrap_servers if server]
    own = _own_certificate(options, request.timeout_s)
    bootstrap = await _reach_all(approach, servers)
    good = [reached for reached in bootstrap if reached.failed is None]
    advertised = await _advertised(approach, bootstrap, {node for reached in good for node in reached.nodes})
    pages, page_clocks = await look_at_pages(request.metrics, environment.clock, request.timeout_s)
    seen = Examination(
        now_ms=environment.clock.wall_ms(),
        servers=",".join(options.bootstrap_servers),
        protocol=options.security_protocol,
        bootstrap=bootstrap,
        advertised=advertised,
        clocks=page_clocks,
        metrics=pages,
        client_files=request.client_files,
        missing_files=_missing(request.client_files),
        own_certificate=own,
    )
    if request.zookeeper is not None:
        found = await look_at_zookeepers(request.zookeeper, environment.clock, request.timeout_s)
        seen = replace(seen, zookeepers=found)
    if not good:
        return replace(seen, unchecked=("the cluster: no bootstrap server can be used",))
    configs = {**request.configs, "bootstrap.servers": ",".join(reached.where for reached in good)}
    cluster = await _look_at_cluster(configs, request, environment, advertised)
    return _together(seen, cluster, request, pages)


def _own_certificate(options: AdminOptions, timeout_s: float) -> CertificateSeen | None:
    if not options.security_protocol.endswith("SSL"):
        return None
    return TlsProbe(tls_settings(options), timeout_s).own_certificate


async def _reach_all(approach: Approach, places: Sequence[tuple[str, int]]) -> tuple[Reached, ...]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(host: str, port: int) -> Reached:
        async with slots:
            return await reach(approach, host, port)

    return tuple(await asyncio.gather(*(one(host, port) for host, port in places)))


async def _advertised(approach: Approach, bootstrap: Sequence[Reached], nodes: set[Node]) -> dict[int, Reached]:
    """The way to each advertised address; one that was among the bootstrap servers is not tried again."""
    known = {(reached.host, reached.port): reached for reached in bootstrap}
    unknown = sorted({(node.host, node.port) for node in nodes} - known.keys())
    known.update(zip(unknown, await _reach_all(approach, unknown), strict=True))
    return {node.id: known[node.host, node.port] for node in sorted(nodes, key=lambda node: node.id)}


async def _look_at_cluster(
    configs: Mapping[str, Any],
    request: DoctorRequest,
    environment: ClientEnvironment,
    advertised: Mapping[int, Reached],
) -> _ClusterSeen:
    limits = LookLimits(timeout_ms=int(request.timeout_s * 1000))
    async with AsyncAdminClient(configs, environment=environment) as admin:
        lost = [broker for broker, reached in advertised.items() if reached.failed is not None]
        snapshot = await look_at(admin, PARTS, without=lost, limits=limits)
        reachable = [broker for broker in snapshot.nodes if broker not in lost]
        settings = await broker_settings(admin, reachable, request.timeout_s)
        topics, unchecked = await topic_settings(admin, list(snapshot.topics), request.timeout_s)
    unchecked = [*map(str, snapshot.unseen), *settings.unchecked, *unchecked]
    unchecked += [f"broker {broker} itself: its advertised address cannot be used from here" for broker in lost]
    clocks: tuple[ClockSeen, ...] = ()
    name = request.clock_topic
    if name is not None:
        if topics.get(name, {}).get("message.timestamp.type") != LOG_APPEND_TIME:
            unchecked.append(f"clocks: topic {name} does not exist, or has no message.timestamp.type={LOG_APPEND_TIME}")
        else:
            clocks, more = await look_at_clocks(configs, snapshot, name, environment.clock, request.timeout_s)
            unchecked += more
    return _ClusterSeen(snapshot, settings.brokers, topics, settings.foreign, clocks, unchecked)


def _together(
    seen: Examination, cluster: _ClusterSeen, request: DoctorRequest, pages: tuple[MetricsSeen, ...]
) -> Examination:
    disks = disks_of(cluster.snapshot)
    unchecked = list(cluster.unchecked)
    if not (seen.clocks or cluster.clocks) and request.clock_topic is None:
        unchecked.append(
            "clocks of the brokers: no response of theirs has the time. Name their pages of metrics, or a topic with "
            f"message.timestamp.type={LOG_APPEND_TIME} that takes a record for it"
        )
    unseen_disks = sorted(set(cluster.snapshot.nodes) - {disk.broker for disk in disks})
    if unseen_disks:
        names = ", ".join(map(str, unseen_disks))
        unchecked.append(f"disks of broker {names}: brokers before 3.3 do not tell, and they are not on this machine")
    if seen.zookeepers is None:
        unchecked.append("ZooKeeper: no server was named")
    if not pages:
        unchecked.append("descriptors and memory of the brokers: no page of metrics was named")
    return replace(
        seen,
        snapshot=cluster.snapshot,
        broker_settings=cluster.brokers,
        topic_settings=cluster.topics,
        foreign_brokers=cluster.foreign,
        clocks=(*seen.clocks, *cluster.clocks),
        disks=disks,
        unchecked=tuple(unchecked),
    )


def _missing(files: Mapping[str, Mapping[str, str]]) -> frozenset[str]:
    named = {settings[name] for settings in files.values()
             for name in ("ssl.truststore.location", "ssl.keystore.location") if settings.get(name)}  # fmt: skip
    return frozenset(path for path in named if not os.path.exists(path))
