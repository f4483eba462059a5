"""What the doctor finds: what is wrong with a cluster or with the way to it, why that matters, and what repairs it.

The page is shown at once with the last report and asks for the next; JSON is the report of an examination that begins
now, or runs already.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_py.manager.examinations import PART, ClusterExaminations, Examinations
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.web.answers import Page, PlannedChange
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import CLUSTER, WebRoute, reads
from kafka_py.operations.doctor.findings import DoctorReport, Severity


@dataclass(frozen=True, slots=True)
class DoctorFindingRow:
    """One thing that is wrong. evidence: what was seen."""

    id: str
    severity: Severity
    what: str
    why: str
    repair: str
    evidence: list[str]


@dataclass(frozen=True, slots=True)
class DoctorPage:
    """The findings, the gravest first, and what could not be looked at.

    examined_ms: when the examination ended, null before the first. is_running: whether another one runs. problem: why
    the last one gave no report.
    """

    findings: list[DoctorFindingRow]
    unchecked: list[str]
    errors: int
    warnings: int
    notes: int
    examined_ms: int | None
    is_running: bool
    problem: str


def page_of(examinations: ClusterExaminations) -> DoctorPage:
    """What is known of a cluster now."""
    report = examinations.report or DoctorReport(())
    failure = examinations.failure
    problem = "" if failure is None else str(failure) or type(failure).__name__
    return DoctorPage(
        [DoctorFindingRow(*finding[:5], list(finding.evidence)) for finding in report.findings],
        list(report.unchecked),
        report.count(Severity.ERROR), report.count(Severity.WARNING), report.count(Severity.NOTE),
        examinations.ended_ms, examinations.is_running, problem,
    )  # fmt: skip


def _examinations(request: PageRequest) -> ClusterExaminations:
    jobs: Examinations = request.services.parts[PART]
    return jobs.of(request.cluster)


async def doctor(request: PageRequest) -> Page:
    """The last report, while the next is made; as JSON the next. Also of a cluster that cannot be reached.

    Raises ConfigError, KafkaError, OSError where there is no report as JSON.
    """
    examinations = _examinations(request)
    if request.is_api:
        examinations.begin()
        await examinations.wait()
        if examinations.failure is not None:
            raise examinations.failure
    elif not examinations.is_fresh:
        examinations.begin()
    return Page("doctor/findings.html", page_of(examinations), "Doctor")


async def progress(request: PageRequest) -> Page:
    """The part of the page that changes: begins nothing, for it is asked for again and again."""
    return Page("doctor/report.html", page_of(_examinations(request)))


async def examine(request: PageRequest) -> PlannedChange:
    """Examines the cluster now, unless that is being done; changes nothing of it."""
    examinations = _examinations(request)

    async def apply() -> str:
        examinations.begin()
        return "The cluster is being examined."

    back = f"/clusters/{part(request.cluster.name)}/doctor"
    return PlannedChange(f"Examine {request.cluster.name}", "", apply, back)


ROUTES = (
    reads(f"{CLUSTER}/doctor", doctor, "What is wrong with the cluster or the way to it, and what repairs it.",
          DoctorPage, menu="Doctor"),
    reads(f"{CLUSTER}/doctor/report", progress, "The last report, without another examination.", DoctorPage,
          under="Doctor"),
    WebRoute("POST", f"{CLUSTER}/doctor", AccessRole.READER, examine, "Begins an examination of the cluster.",
             under="Doctor"),
)  # fmt: skip
