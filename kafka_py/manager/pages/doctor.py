"""What the doctor finds: what is wrong with a cluster or with the way to it, why that matters, and what repairs it."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import CLUSTER, reads
from kafka_py.operations.doctor.diagnosis import diagnose
from kafka_py.operations.doctor.examine import DoctorRequest
from kafka_py.operations.doctor.findings import Severity

PATIENCE_S = 3.0
"""For each step: somebody waits for the page."""


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
    """The findings, the gravest first, and what could not be looked at."""

    findings: list[DoctorFindingRow]
    unchecked: list[str]
    errors: int
    warnings: int
    notes: int


async def doctor(request: PageRequest) -> Page:
    """Looks at the cluster now; also at one that cannot be reached."""
    settings = request.cluster.settings
    asked = DoctorRequest(settings.client_properties(), zookeeper=settings.zookeeper or None, timeout_s=PATIENCE_S)
    report = await diagnose(asked, request.services.environment)
    model = DoctorPage(
        [DoctorFindingRow(*finding[:5], list(finding.evidence)) for finding in report.findings],
        list(report.unchecked),
        report.count(Severity.ERROR),
        report.count(Severity.WARNING),
        report.count(Severity.NOTE),
    )
    return Page("doctor/findings.html", model, "Doctor")


ROUTES = (
    reads(f"{CLUSTER}/doctor", doctor, "What is wrong with the cluster or the way to it, and what repairs it.",
          DoctorPage, menu="Doctor"),
)  # fmt: skip
