"""diagnose: looks at a cluster and says what is wrong with it."""

from __future__ import annotations

import asyncio

from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.operations.doctor.checks.all_checks import CHECKS
from kafka_py.operations.doctor.examine import DoctorRequest, examine
from kafka_py.operations.doctor.findings import DoctorFinding, DoctorReport, report_of


async def diagnose(request: DoctorRequest, environment: ClientEnvironment = SYSTEM) -> DoctorReport:
    """The report on a cluster, also on one that cannot be reached. Raises ConfigError for unusable settings."""
    seen = await examine(request, environment)
    findings: list[DoctorFinding] = []
    for check in CHECKS:  # a turn of the event loop for each
        findings += check(seen)
        await asyncio.sleep(0)
    return report_of(findings, seen.unchecked)
