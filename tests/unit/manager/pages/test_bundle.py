"""The page of a support archive: for administrators, made in the background, sent as it is."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from kafka_py.manager.bundle_jobs import PART, BundleJobs
from kafka_py.manager.bundle_process import ArchiveMade, ArchiveRequest
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.web_manager import CalledManager

PATH = "/clusters/test/bundle"
ARCHIVE = bytes(range(256)) * 3_000


class Maker:
    """Writes ARCHIVE when `go` is set; `problem` instead where there is one."""

    def __init__(self, manager: CalledManager, folder: Path, clock: ManualClock) -> None:
        self.go, self.problem = asyncio.Event(), ""
        self.jobs = manager.services.parts[PART] = BundleJobs(folder, self, clock)
        cluster = manager.services.clusters.get("test")
        assert cluster is not None
        self.cluster = cluster

    async def __call__(self, request: ArchiveRequest) -> ArchiveMade:
        await self.go.wait()
        if self.problem:
            return ArchiveMade(problem=self.problem)
        await asyncio.to_thread(Path(request.path).write_bytes, ARCHIVE)
        return ArchiveMade(4, len(ARCHIVE))

    async def finish(self) -> None:
        self.go.set()
        job = self.jobs.job(self.cluster)
        assert job is not None
        await job.wait()


def test_an_archive_is_made_while_the_page_says_so_and_then_sent_whole(
    played: Callable[..., None], tmp_path: Path, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        maker = Maker(manager, tmp_path, manager_clock)
        assert "There is no archive yet." in (await manager.get(PATH)).text
        assert (await manager.get(f"{PATH}/file")).status_code == 404
        begun = await manager.submit(PATH, step="apply", submission="1")
        assert (begun.status_code, begun.headers["location"]) == (303, PATH)
        assert "being made" in (await manager.get(PATH)).text
        assert 'aria-busy="true"' in (await manager.get(f"{PATH}/progress")).text
        assert (await manager.get(f"{PATH}/file")).status_code == 404
        busy = await manager.submit(PATH, step="apply", submission="2")
        assert busy.status_code == 400 and "wait until it is there" in busy.text
        await maker.finish()
        page = (await manager.get(f"{PATH}/progress")).text
        assert "4 files" in page and "aria-busy" not in page
        for path in (f"{PATH}/file", f"/api{PATH}/file"):
            sent = await manager.get(path)
            assert sent.content == ARCHIVE and sent.headers["content-length"] == str(len(ARCHIVE))
            assert sent.headers["content-disposition"].startswith('attachment; filename="kafka-py-bundle-test-')

    played(scene, allow_changes=True)


def test_what_went_wrong_is_said(
    played: Callable[..., None], tmp_path: Path, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        maker = Maker(manager, tmp_path, manager_clock)
        maker.problem = "<b>no space</b>"
        assert (await manager.call(PATH)).json()["is_done"]
        assert (await manager.get(f"/api{PATH}")).json()["is_running"]
        await maker.finish()
        assert "&lt;b&gt;no space" in (await manager.get(PATH)).text
        document = (await manager.get(f"/api{PATH}")).json()
        assert (document["is_ready"], document["problem"]) == (False, maker.problem)
        assert (await manager.get(f"{PATH}/file")).status_code == 404

    played(scene, allow_changes=True)


def test_readers_neither_make_nor_see_an_archive(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for path in (PATH, f"{PATH}/progress", f"{PATH}/file", f"/api{PATH}", f"/api{PATH}/file"):
            assert (await manager.get(path)).status_code == 403
        assert (await manager.submit(PATH, step="apply", submission="1")).status_code == 403
        assert PATH not in (await manager.get("/clusters/test/doctor/report")).text

    played(scene)
