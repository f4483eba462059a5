"""What the doctor says: findings in order of gravity, and what could not be checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

MOST_EVIDENCE = 10


class Severity(StrEnum):
    """ERROR: something does not work now. WARNING: it will not after the next fault. NOTE: advice."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


class DoctorFinding(NamedTuple):
    """One thing that is wrong.

    id: the same for every finding of this kind. repair: the command or the setting that repairs it. evidence: what was
    seen, a line each.
    """

    id: str
    severity: Severity
    what: str
    why: str
    repair: str
    evidence: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """For JSON and YAML."""
        return {**self._asdict(), "severity": self.severity.value, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """findings: the gravest first. unchecked: what could not be looked at, and why."""

    findings: tuple[DoctorFinding, ...]
    unchecked: tuple[str, ...] = ()

    def count(self, severity: Severity) -> int:
        """How many findings are of this severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def worst(self) -> Severity | None:
        """None without findings."""
        return self.findings[0].severity if self.findings else None

    def document(self) -> dict[str, Any]:
        """For JSON and YAML."""
        return {
            "findings": [finding.document() for finding in self.findings],
            "unchecked": list(self.unchecked),
            **{f"{severity.value}s": self.count(severity) for severity in Severity},
        }


def report_of(findings: Sequence[DoctorFinding], unchecked: Sequence[str] = ()) -> DoctorReport:
    """Sorts by gravity; among equals the order of the checks stays."""
    return DoctorReport(tuple(sorted(findings, key=lambda finding: _RANK[finding.severity])), tuple(unchecked))


def shortened(lines: Sequence[str]) -> tuple[str, ...]:
    """The first lines of evidence, and how many more there are."""
    more = len(lines) - MOST_EVIDENCE
    return (*lines[:MOST_EVIDENCE], *((f"and {more} more",) if more > 0 else ()))
