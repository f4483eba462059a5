"""The brokers of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import CLUSTER, reads


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """A broker that is alive."""

    id: int
    host: str
    port: int
    rack: str | None
    is_controller: bool


@dataclass(frozen=True, slots=True)
class BrokersPage:
    """All live brokers."""

    cluster_id: str | None
    brokers: list[BrokerRow]


async def brokers(request: PageRequest) -> Page:
    """The list of brokers."""
    found = await request.cluster.admin.describe_cluster()
    controller = None if found.controller is None else found.controller.id
    rows = [
        BrokerRow(node.id, node.host, node.port, node.rack, node.id == controller)
        for node in sorted(found.nodes, key=lambda node: node.id)
    ]
    return Page("brokers/list.html", BrokersPage(found.cluster_id, rows), "Brokers")


ROUTES = (reads(f"{CLUSTER}/brokers", brokers, "The brokers of a cluster.", BrokersPage, menu="Brokers"),)
