"""A support archive of a cluster: made in the background, then sent. For administrators, as what is in it is about all
topics, groups and settings; secrets are taken out as by kafka-py bundle.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import BinaryIO

from starlette.responses import Response

from kafka_py.manager.bundle_jobs import PART, BundleBusy, BundleJob, BundleJobs
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.pages.commands import CONFIG_FILE
from kafka_py.manager.web.answers import Page, PlannedChange
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, WebRoute, changes
from kafka_py.manager.web.streaming import StreamedAnswer

CHUNK_BYTES = 256 * 1024
PATH = f"{CLUSTER}/bundle"


@dataclass(frozen=True, slots=True)
class BundlePage:
    """The last archive. begun_ms: null where there is none. problem: why it could not be made."""

    is_running: bool
    is_ready: bool
    begun_ms: int | None
    name: str
    files: int
    size_bytes: int
    problem: str


def page_of(job: BundleJob | None) -> BundlePage:
    """How far an archive is."""
    if job is None:
        return BundlePage(False, False, None, "", 0, 0, "")
    made = job.made
    if made is None:
        return BundlePage(job.is_running, False, job.begun_ms, "", 0, 0, "" if job.is_running else "It was interrupted")
    return BundlePage(
        False, not made.problem, job.begun_ms, job.path.name, made.files, made.size_bytes, made.problem
    )


def _jobs(request: PageRequest) -> BundleJobs:
    jobs: BundleJobs = request.services.parts[PART]
    return jobs


async def bundle(request: PageRequest) -> Page:
    """The last archive, or how far it is."""
    return Page("bundle/archive.html", page_of(_jobs(request).job(request.cluster)), "Support archive")


async def progress(request: PageRequest) -> Page:
    """The part of the page that changes."""
    return Page("bundle/progress.html", page_of(_jobs(request).job(request.cluster)))


async def begin(request: PageRequest) -> PlannedChange:
    """Begins an archive; the cluster is not changed."""
    cluster = request.cluster
    words = ["kafka-py", "bundle", "--bootstrap-server", cluster.settings.bootstrap_servers]
    words += ["--command-config", CONFIG_FILE] if cluster.settings.properties else []

    async def apply() -> str:
        try:
            await _jobs(request).begin(cluster)
        except BundleBusy as error:
            raise BadParameter(str(error)) from None
        return "The archive is being made."

    return PlannedChange(f"Make a support archive of {cluster.name}", " ".join(words), apply,
                         f"/clusters/{part(cluster.name)}/bundle")  # fmt: skip


async def file(request: PageRequest) -> Response:
    """The archive. Raises NotFound where there is none."""
    job = _jobs(request).job(request.cluster)
    if job is None or not page_of(job).is_ready:
        raise NotFound("There is no archive of this cluster: make one first")
    try:
        opened = await asyncio.to_thread(job.path.open, "rb")
    except FileNotFoundError:
        raise NotFound("The archive was replaced just now") from None
    answer = StreamedAnswer(
        _chunks(opened), lambda: asyncio.to_thread(opened.close), media_type="application/gzip",
        headers={"Content-Disposition": f'attachment; filename="{job.path.name}"', "Cache-Control": "no-store"},
    )  # fmt: skip
    answer.headers["content-length"] = str(page_of(job).size_bytes)  # so that a part is not taken for the whole
    return answer


async def _chunks(opened: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(opened.read, CHUNK_BYTES):
        yield chunk


ROUTES = (
    WebRoute("GET", PATH, AccessRole.ADMINISTRATOR, bundle, "The support archive that was made last.", BundlePage,
             under="Doctor"),
    WebRoute("GET", f"{PATH}/progress", AccessRole.ADMINISTRATOR, progress, "How far a support archive is.", BundlePage,
             under="Doctor"),
    WebRoute("GET", f"{PATH}/file", AccessRole.ADMINISTRATOR, file, "The support archive, a tar.gz.", BundlePage,
             under="Doctor"),
    changes(PATH, begin, "Makes a support archive.", under="Doctor"),
)  # fmt: skip
