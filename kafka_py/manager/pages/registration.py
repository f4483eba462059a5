"""Clusters are added and removed on a page: nothing is deployed, an existing cluster is shown from then on.

A cluster of the settings file is changed there. Passwords among the settings go into the file of added clusters only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_py.base.errors import ConfigError
from kafka_py.base.options import Kind
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.manager import directory_jobs, rebalance_jobs
from kafka_py.manager.execution_jobs import ExecutionJobs
from kafka_py.manager.pages.topic_changes import settings_of_lines
from kafka_py.manager.settings import ClusterSettings, check_cluster
from kafka_py.manager.web.answers import Effect, Page, PlannedChange
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import RouteParameter, changes, reads

HIDDEN = "(hidden)"
REFUSED_ENDS = (".class", ".classes", ".reporters", ".providers", ".cmd")
"""Settings that would load code, run programs or read other files of the manager's machine."""


@dataclass(frozen=True, slots=True)
class RegistrationPage:
    """The form for a cluster."""

    name: str = ""
    bootstrap_servers: str = ""
    version: str = ""
    zookeeper: str = ""
    properties: str = ""
    is_read_only: bool = False
    problem: str = ""


async def form(_request: PageRequest) -> Page:
    """The empty form."""
    return Page("clusters/new.html", RegistrationPage(), "Add a cluster")


def client_properties(text: str) -> dict[str, str]:
    """Settings of clients, a line each. Raises BadParameter for one that is unknown or refused."""
    properties = settings_of_lines(text)
    known = AdminOptions.ROWS
    for name, value in properties.items():
        # The file of a token would be sent to whatever server is given here.
        is_file = name.endswith(".url") and not value.lower().startswith(("https://", "http://"))
        if name.endswith(REFUSED_ENDS) or is_file:
            raise BadParameter(f"The setting {name} can be given in the settings file only")
        if name not in known or name == "bootstrap.servers":
            raise BadParameter(f"There is no setting {name[:100]} that a cluster could need here")
    return properties


def shown_properties(cluster: ClusterSettings) -> dict[str, str]:
    """The settings without what is secret."""
    known = AdminOptions.ROWS
    return {
        name: HIDDEN if name in known and known[name].kind is Kind.PASSWORD else value
        for name, value in cluster.properties.items()
    }


def settings_text(cluster: ClusterSettings) -> str:
    """The same cluster in the settings file, without secrets."""
    lines = ["[[cluster]]", f'name = "{cluster.name}"', f'bootstrap_servers = "{cluster.bootstrap_servers}"']
    lines += [f'zookeeper = "{cluster.zookeeper}"'] if cluster.zookeeper else []
    lines += [f'version = "{cluster.version}"'] if cluster.version else []
    lines += ["is_read_only = true"] if cluster.is_read_only else []
    shown = shown_properties(cluster)
    if shown:
        lines += ["[cluster.properties]", *(f'"{name}" = "{value}"' for name, value in shown.items())]
    return "\n".join(lines)


async def add(request: PageRequest) -> PlannedChange | Page:
    """Shows a cluster from now on."""
    clusters = request.services.clusters
    page = RegistrationPage(
        request.text("name", ""), request.text("bootstrap_servers", ""), request.text("version", ""),
        request.text("zookeeper", ""), "", request.flag("is_read_only"),
    )  # fmt: skip
    try:
        settings = check_cluster(ClusterSettings(
            page.name, page.bootstrap_servers, client_properties(request.text("properties", "")), page.zookeeper,
            page.version[:50], page.is_read_only, is_own=True,
        ))  # fmt: skip
        before = clusters.get(settings.name)
        if before is not None and not before.settings.is_own:
            raise BadParameter(f"The settings file has a cluster {settings.name}")
        _require_idle(request, settings.name)
    except (BadParameter, ConfigError) as error:
        if request.is_api:
            raise
        why = error.message if isinstance(error, ConfigError) else str(error)
        return Page("clusters/new.html", RegistrationPage(
            page.name, page.bootstrap_servers, page.version, page.zookeeper, "", page.is_read_only, why,
        ), "Add a cluster", 422)  # fmt: skip

    async def apply() -> str:
        await clusters.put(settings)
        return f"The cluster {settings.name} was added."

    effects = [Effect("bootstrap servers", before.settings.bootstrap_servers if before else "", page.bootstrap_servers)]
    return PlannedChange(f"Add the cluster {settings.name}", settings_text(settings), apply, "/", effects)


def _require_idle(request: PageRequest, name: str) -> None:
    """Raises BadParameter while a plan is carried out, which could be watched and stopped no longer."""
    for part in (rebalance_jobs.PART, directory_jobs.PART):
        jobs: ExecutionJobs[Any] | None = request.services.parts.get(part)
        if jobs is not None and jobs.is_running(name):
            raise BadParameter(f"A rebalance of the cluster {name} is being carried out: stop it first")


async def remove(request: PageRequest) -> PlannedChange:
    """Shows a cluster no longer; the cluster itself is left alone."""
    name = request.text("name")
    cluster = request.services.clusters.get(name)
    if cluster is None:
        raise NotFound(f"There is no cluster {name[:100]}")
    if not cluster.settings.is_own:
        raise BadParameter(f"The cluster {name} is one of the settings file, and is removed there")

    _require_idle(request, name)

    async def apply() -> str:
        await request.services.clusters.remove(name)
        return f"The cluster {name} is not shown any more."

    effects = [Effect("bootstrap servers", cluster.settings.bootstrap_servers)]
    warnings = ["The cluster itself is not changed; the manager forgets its settings."]
    return PlannedChange(f"Remove the cluster {name} from the manager", "", apply, "/", effects, warnings)


_NAME = RouteParameter("name", "The name of the cluster.", is_required=True)
ROUTES = (
    reads("/clusters/new", form, "The form for a cluster.", RegistrationPage, in_api=False),
    changes(
        "/clusters", add, "Adds a cluster to those that are shown.", _NAME,
        RouteParameter("bootstrap_servers", "host:port,host:port", is_required=True),
        RouteParameter("version", "The release of its brokers, for readers."),
        RouteParameter("zookeeper", "host:port/path, for what has no request of its own."),
        RouteParameter("properties", "Settings of clients, a line name=value each."),
        RouteParameter("is_read_only", "Whether nobody may change it here.", "boolean"),
    ),
    changes("/clusters/remove", remove, "Removes a cluster that was added from those that are shown.", _NAME),
)  # fmt: skip
