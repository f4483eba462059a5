"""The brokers of a cluster: addresses, loads and skew; and one broker with its log directories and API versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.brokers import VersionRange
from kafka_py.clients.admin.resources import ConfigResource, ConfigResourceType
from kafka_py.manager.pages.looks import problems_of, seen
from kafka_py.manager.pages.settings_table import SettingRow, settings_of
from kafka_py.manager.web.answers import Page, ProblemRow
from kafka_py.manager.web.requests import NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, reads
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.wire.apis import ApiKey


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """A broker. is_alive: false for one that has replicas and did not register; its address is unknown.

    leads, follows: partitions. skew: how far its number of replicas is from the average, in percent; leader_skew: the
    same of the partitions that it leads. api_count: how many kinds of requests it knows.
    """

    id: int
    host: str
    port: int
    rack: str | None
    is_controller: bool
    is_alive: bool
    leads: int
    follows: int
    skew: int
    leader_skew: int
    size_bytes: int | None
    api_count: int | None


@dataclass(frozen=True, slots=True)
class BrokersPage:
    """All brokers, and figures of the cluster."""

    cluster_id: str | None
    brokers: list[BrokerRow]
    topics: int
    partitions: int
    under_replicated: int
    offline: int
    not_preferred: int
    problems: list[ProblemRow]


def percent_off(number: int, average: float) -> int:
    """How far a number is from the average, in percent; 0 where there is nothing."""
    return round(100 * (number - average) / average) if average else 0


def broker_rows(snapshot: ClusterSnapshot) -> list[BrokerRow]:
    """All brokers that are alive or have a replica."""
    leads, replicas = derived.leaders_per_broker(snapshot), derived.replicas_per_broker(snapshot)
    sizes = derived.bytes_per_broker(snapshot)
    alive = max(1, len(snapshot.nodes))
    average_leads, average_replicas = sum(leads.values()) / alive, sum(replicas.values()) / alive
    rows = []
    for broker in sorted({*snapshot.nodes, *replicas}):
        node = snapshot.nodes.get(broker)
        led, held = leads.get(broker, 0), replicas.get(broker, 0)
        versions = snapshot.versions.get(broker)
        rows.append(BrokerRow(
            broker, node.host if node else "", node.port if node else 0, node.rack if node else None,
            broker == snapshot.controller_id, node is not None, led, held - led,
            percent_off(held, average_replicas), percent_off(led, average_leads),
            sizes.get(broker), None if versions is None else len(versions),
        ))  # fmt: skip
    return rows


async def brokers(request: PageRequest) -> Page:
    """The list of brokers."""
    snapshot = await seen(request.cluster, ViewPart.VERSIONS, ViewPart.TOPICS, ViewPart.LOG_DIRS)
    infos = list(derived.partitions(snapshot))
    model = BrokersPage(
        snapshot.cluster_id,
        broker_rows(snapshot),
        len(snapshot.topics),
        len(infos),
        sum(map(derived.is_under_replicated, infos)),
        sum(derived.is_offline(snapshot, info) for info in infos),
        sum(not derived.is_preferred_leader(info) for info in infos),
        problems_of(snapshot),
    )
    return Page("brokers/list.html", model, "Brokers")


class LogDirRow(NamedTuple):
    """A log directory. problem: why it is offline, or an empty text.

    total_bytes, usable_bytes: of its file system; None from brokers that do not tell. used_percent: of the total.
    """

    path: str
    problem: str
    replicas: int
    size_bytes: int
    total_bytes: int | None = None
    usable_bytes: int | None = None

    @property
    def used_percent(self) -> int | None:
        if not self.total_bytes or self.usable_bytes is None:
            return None
        return 100 * (self.total_bytes - self.usable_bytes) // self.total_bytes


class ApiRow(NamedTuple):
    """The versions of one API that a broker takes."""

    key: int
    name: str
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class BrokerPage:
    """One broker with everything it says of itself."""

    broker: BrokerRow
    log_dirs: list[LogDirRow]
    apis: list[ApiRow]
    settings: list[SettingRow]
    search: str
    only_changed: bool
    problems: list[ProblemRow]


def api_rows(versions: Mapping[int, VersionRange]) -> list[ApiRow]:
    """By number; an API that this release does not know has its number as its name."""
    known = {int(key): key.name.lower() for key in ApiKey}
    return [ApiRow(key, known.get(key, str(key)), found.lowest, found.highest)
            for key, found in sorted(versions.items())]  # fmt: skip


def problems_with(snapshot: ClusterSnapshot, broker: int) -> list[ProblemRow]:
    """What could not be seen of a broker, and of the cluster as a whole."""
    about = tuple(each for each in snapshot.unseen if each.broker in (None, broker))
    return problems_of(replace(snapshot, unseen=about))


async def broker(request: PageRequest) -> Page:
    """One broker."""
    cluster = request.cluster
    number = broker_id(request)
    snapshot = await seen(cluster, ViewPart.VERSIONS, ViewPart.TOPICS, ViewPart.LOG_DIRS)
    row = next((row for row in broker_rows(snapshot) if row.id == number), None)
    if row is None:
        raise NotFound(f"There is no broker {number}")
    problems = problems_with(snapshot, number)
    settings: list[SettingRow] = []
    if row.is_alive:
        try:
            resource = ConfigResource(ConfigResourceType.BROKER, str(number))
            settings = await settings_of(cluster, resource)
        except (KafkaError, OSError) as error:
            problems.append(ProblemRow("settings", str(error)))
    search, only_changed = request.text("search", ""), request.flag("changed")
    shown = [each for each in settings if search in each.name and (each.is_changed or not only_changed)]
    log_dirs = [
        LogDirRow(path, "" if found.error is None else found.error.message, len(found.replicas),
                  sum(info.size_bytes for info in found.replicas.values()), found.total_bytes, found.usable_bytes)
        for path, found in sorted(snapshot.log_dirs.get(number, {}).items())
    ]  # fmt: skip
    apis = api_rows(snapshot.versions.get(number, {}))
    model = BrokerPage(row, log_dirs, apis, shown, search, only_changed, problems)
    return Page("brokers/broker.html", model, f"Broker {number}")


def broker_id(request: PageRequest) -> int:
    """The broker in the path. Raises NotFound."""
    text = request.path["broker"]
    if not (text.isascii() and text.isdecimal()) or len(text) > 10:
        raise NotFound(f"There is no broker {text[:20]}")
    return int(text)


ROUTES = (
    reads(f"{CLUSTER}/brokers", brokers, "The brokers of a cluster.", BrokersPage, menu="Brokers"),
    reads(
        f"{CLUSTER}/brokers/{{broker}}", broker, "One broker: settings, log directories, API versions.", BrokerPage,
        RouteParameter("search", "A part of the names of settings."),
        RouteParameter("changed", "Only settings that are not the default.", "boolean"),
        under="Brokers",
    ),
)  # fmt: skip
