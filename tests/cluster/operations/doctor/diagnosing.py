"""The doctor's report on a cluster of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from kafka_py.operations.doctor.diagnosis import diagnose
from kafka_py.operations.doctor.examine import DoctorRequest
from kafka_py.operations.doctor.findings import DoctorFinding, DoctorReport, Severity

IN_ORDER = {
    "offsets.topic.replication.factor": 3,
    "transaction.state.log.replication.factor": 3,
    "transaction.state.log.min.isr": 2,
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "auto.create.topics.enable": False,
}
"""Settings of a cluster of three in which the doctor finds nothing."""


def diagnosed(servers: str, configs: Mapping[str, str] | None = None, **request: Any) -> DoctorReport:
    """request: other members of the DoctorRequest."""
    asked = DoctorRequest({"bootstrap.servers": servers, **(configs or {})}, **{"timeout_s": 10.0, **request})
    return asyncio.run(diagnose(asked))


def ids(report: DoctorReport) -> list[str]:
    return [finding.id for finding in report.findings]


def the(report: DoctorReport, name: str, severity: Severity = Severity.ERROR) -> DoctorFinding:
    """The finding of this name, the first one; it says why it matters and what to do."""
    found = [finding for finding in report.findings if finding.id == name]
    assert found, f"{name} is not among {[(each.id, each.what) for each in report.findings]}"
    assert found[0].severity is severity
    assert found[0].why
    assert found[0].repair
    return found[0]
