"""Log directories of brokers: what is in them, what moves between them, and the form for a plan.

Source: KIP-113; KIP-827 (bytes of disks).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.manager.directory_jobs import PART
from kafka_py.manager.pages.looks import problems_of, seen
from kafka_py.manager.pages.moves.directory_plans import (
    DirectoryAction,
    DirectoryPlanRow,
    asked,
    plan_row,
    planned,
)
from kafka_py.manager.pages.moves.executions import ExecutionProgressPage, Executions
from kafka_py.manager.web.answers import Page, PageList, ProblemRow
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, reads
from kafka_py.operations.cluster_view import derived
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot, ViewPart
from kafka_py.operations.directories.look_input import places_of
from kafka_py.operations.directories.model import DirectoryId
from kafka_py.operations.rebalancing.model import DEFAULT_TOLERANCE_PERCENT, RebalanceRefused

DIRECTORIES = Executions(PART, "directories", "plan for log directories", "replicas")
MENU = "Log directories"
MOST_MOVING = 200
"""Replicas on their way that are shown at once."""


class DirectoryRow(NamedTuple):
    """A log directory. problem: why it is offline, or an empty text. arriving: replicas that are being moved to it.

    total_bytes, usable_bytes: of its disk; null from brokers before 3.3. free_percent: of the total.
    """

    broker: int
    path: str
    problem: str
    replicas: int
    size_bytes: int
    arriving: int
    total_bytes: int | None = None
    usable_bytes: int | None = None
    free_percent: int | None = None


class MovingReplicaRow(NamedTuple):
    """A replica on its way to another directory of its broker. percent: of the bytes that it has where it is now.

    source: null while only the copy is there.
    """

    replica: str
    source: str | None
    target: str
    copied_bytes: int
    size_bytes: int
    percent: int


@dataclass(frozen=True, slots=True)
class DirectoriesPage:
    """Directories and what moves, whoever began it; the form as it was filled in, and the plan that it leads to.

    choices: directories that can be emptied, as broker=path. moving_total: of all replicas that move.
    """

    directories: list[DirectoryRow]
    part: PageList
    moving: list[MovingReplicaRow]
    moving_total: int
    action: str
    brokers: str
    drained: list[str]
    choices: list[str]
    tolerance: int
    plan: DirectoryPlanRow | None
    progress: ExecutionProgressPage
    problem: str
    problems: list[ProblemRow]


def directory_rows(snapshot: ClusterSnapshot) -> list[DirectoryRow]:
    """All directories that were seen, by broker and path."""
    rows = []
    for broker, found in snapshot.log_dirs.items():
        for path, each in sorted(found.items()):
            arriving = sum(info.is_future for info in each.replicas.values())
            free = None
            if each.total_bytes and each.usable_bytes is not None:
                free = 100 * each.usable_bytes // each.total_bytes
            rows.append(DirectoryRow(
                broker, path, "" if each.error is None else f"{each.error.code.name}: {each.error.message}",
                len(each.replicas) - arriving, sum(info.size_bytes for info in each.replicas.values()), arriving,
                each.total_bytes, each.usable_bytes, free,
            ))  # fmt: skip
    return rows


def moving_rows(snapshot: ClusterSnapshot) -> list[MovingReplicaRow]:
    """The replicas that are being moved."""
    sizes = derived.replica_bytes(snapshot)
    rows = []
    for id_, place in sorted(places_of(snapshot.log_dirs).items()):
        if place.future is not None:
            whole = sizes.get(id_.partition, {}).get(id_.broker, 0)
            percent = min(100, 100 * place.copied_bytes // whole) if whole else 100
            rows.append(
                MovingReplicaRow(str(id_), place.current, place.future, place.copied_bytes, whole, percent)
            )
    return rows


def silent_brokers(snapshot: ClusterSnapshot) -> Iterator[ProblemRow]:
    """Brokers that have replicas and are not alive: nothing is known of their directories."""
    named = {id_ for info in derived.partitions(snapshot) for id_ in info.replicas}
    for broker in sorted(named - snapshot.nodes.keys()):
        yield ProblemRow(f"log dirs of broker {broker}", "the broker is down")


async def directories(request: PageRequest) -> Page:
    """The directories and the form, with the plan once `plan` is asked for."""
    snapshot = await seen(request.cluster, ViewPart.TOPICS, ViewPart.LOG_DIRS)
    plan, problem = None, ""
    if request.flag("plan"):
        try:
            plan = plan_row(await planned(snapshot, asked(request)))
        except (RebalanceRefused, BadParameter) as error:
            problem = str(error)
    rows, moving = directory_rows(snapshot), moving_rows(snapshot)
    section = request.page_list(len(rows), size=100)
    model = DirectoriesPage(
        rows[section.start : section.end], section, moving[:MOST_MOVING], len(moving),
        request.text("action", DirectoryAction.BALANCE), request.text("brokers", ""), request.many("directory"),
        [str(DirectoryId(row.broker, row.path)) for row in rows if not row.problem],
        request.number("tolerance", DEFAULT_TOLERANCE_PERCENT), plan, DIRECTORIES.progress(request), problem,
        [*problems_of(snapshot), *silent_brokers(snapshot)],
    )  # fmt: skip
    return Page("directories/list.html", model, MENU, 422 if problem else 200)


async def progress(request: PageRequest) -> Page:
    """How far the execution is."""
    return Page("directories/progress.html", DIRECTORIES.progress(request))


class ReplicaRow(NamedTuple):
    """A replica in a directory. target: where it is being moved to, or null."""

    partition: str
    path: str
    size_bytes: int
    target: str | None


@dataclass(frozen=True, slots=True)
class DirectoryReplicasPage:
    """The replicas of one broker, the largest first. targets: its directories that are online."""

    broker: int
    path: str
    search: str
    paths: list[str]
    targets: list[str]
    replicas: list[ReplicaRow]
    part: PageList
    is_running: bool
    problems: list[ProblemRow]


async def replicas(request: PageRequest) -> Page:
    """The replicas of a broker, to choose what is moved."""
    broker, path = request.number("broker"), request.exact("path", "")
    search = request.text("search", "")
    snapshot = await seen(request.cluster, ViewPart.LOG_DIRS)
    found = snapshot.log_dirs.get(broker)
    problems = problems_of(snapshot)
    if found is None and broker not in snapshot.nodes:
        raise NotFound(f"There is no live broker {broker}")
    places = places_of({broker: found or {}})
    sizes = derived.replica_bytes(snapshot)
    rows = sorted(
        (
            ReplicaRow(str(id_.partition), place.current, sizes[id_.partition][broker], place.future)
            for id_, place in places.items()
            if place.current is not None and path in ("", place.current) and search in str(id_.partition)
        ),
        key=lambda row: (-row.size_bytes, row.partition),
    )
    section = request.page_list(len(rows), size=100)
    targets = sorted(path for path, each in (found or {}).items() if each.error is None)
    model = DirectoryReplicasPage(
        broker, path, search, sorted(found or {}), targets, rows[section.start : section.end], section,
        DIRECTORIES.jobs(request).is_running(request.cluster.name), problems,
    )  # fmt: skip
    return Page("directories/replicas.html", model, f"Replicas of broker {broker}")


ASKED = (
    RouteParameter("action", f"One of {', '.join(DirectoryAction)}."),
    RouteParameter("brokers", "Ids of brokers whose directories are evened out; all unless given."),
    RouteParameter("directory", "Directories that are emptied, as 0=/disk1.", is_list=True),
    RouteParameter("tolerance", "How many percent a directory may be from its share.", "integer"),
    RouteParameter("broker", "The broker of chosen replicas.", "integer"),
    RouteParameter("replica", "Chosen replicas, as topic-number.", is_list=True),
    RouteParameter("target", "The directory that chosen replicas are moved to."),
)
ROUTES = (
    reads(f"{CLUSTER}/directories", directories, "The log directories of brokers, and plans for them.",
          DirectoriesPage, *ASKED, RouteParameter("plan", "Whether to make a plan.", "boolean"), *PAGING, menu=MENU),
    reads(f"{CLUSTER}/directories/progress", progress, "How far a plan for log directories is.",
          ExecutionProgressPage, under=MENU),
    reads(f"{CLUSTER}/directories/replicas", replicas, "The replicas in the log directories of a broker.",
          DirectoryReplicasPage, RouteParameter("broker", "The id of the broker.", "integer", is_required=True),
          RouteParameter("path", "Only those in this directory."),
          RouteParameter("search", "A part of the names of partitions."), *PAGING, under=MENU),
)  # fmt: skip
