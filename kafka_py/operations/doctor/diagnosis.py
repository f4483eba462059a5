"""diagnose: looks at a cluster and says what is wrong with it."""

from __future__ import annotations

from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.operations.doctor.checks.all_checks import findings_in
from kafka_py.operations.doctor.examine import DoctorRequest, examine
from kafka_py.operations.doctor.findings import DoctorReport, report_of


async def diagnose(request: DoctorRequest, environment: ClientEnvironment = SYSTEM) -> DoctorReport:
    """The report on a cluster, also on one that cannot be reached. Raises ConfigError for unusable settings."""
    seen = await examine(request, environment)
    return report_of(findings_in(seen), seen.unchecked)
