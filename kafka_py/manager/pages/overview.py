"""All clusters, asked at the same time; one that is down is shown as such and makes the page wait shortly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import reads

PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """problem: why the cluster could not be asked; then the numbers are null."""

    name: str
    bootstrap_servers: str
    version: str
    is_own: bool
    is_read_only: bool
    cluster_id: str | None = None
    controller: int | None = None
    brokers: int | None = None
    topics: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClustersPage:
    """All clusters of the manager."""

    clusters: list[ClusterRow]


async def row_of(cluster: ManagedCluster) -> ClusterRow:
    """What a cluster says of itself."""
    settings = cluster.settings
    known = (settings.name, settings.bootstrap_servers, settings.version, settings.is_own, settings.is_read_only)
    try:
        async with asyncio.timeout(PATIENCE_S):
            found, topics = await asyncio.gather(
                cluster.admin.describe_cluster(timeout=PATIENCE_S), cluster.admin.list_topics(timeout=PATIENCE_S)
            )
    except TimeoutError:
        return ClusterRow(*known, problem="does not answer")
    except ConfigError as error:
        return ClusterRow(*known, problem=error.message)
    except (KafkaError, OSError) as error:
        return ClusterRow(*known, problem=error.message if isinstance(error, KafkaError) else str(error))
    controller = None if found.controller is None else found.controller.id
    return ClusterRow(*known, found.cluster_id, controller, len(found.nodes), len(topics))


async def clusters(request: PageRequest) -> Page:
    """The first page."""
    rows = await asyncio.gather(*(row_of(cluster) for cluster in request.services.clusters))
    return Page("overview.html", ClustersPage(list(rows)), "Clusters")


ROUTES = (reads("/", clusters, "All clusters.", ClustersPage),)
