"""The audit log: a line of JSON for each entry, in a file of its owner, and never lost silently."""

import json
import logging
from pathlib import Path

import pytest

from kafka_py.manager.identity.audit import AuditEntry, AuditLog
from kafka_py.testing.clock import ManualClock

ENTRY = AuditEntry("ann", "10.0.0.1", "POST /clusters", "done", "Add the cluster", detail="two\nlines \"and\" ünïcode")


def test_entries_are_appended_one_a_line_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    path, clock = tmp_path / "new folder" / "audit.jsonl", ManualClock()
    AuditLog(path, clock).write(ENTRY)
    clock.advance(1_500)
    AuditLog(path, clock).write(AuditEntry("", "", "", "refused"))
    first, second = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert {**first, "time": ""} == {
        "time": "", "user": "ann", "address": "10.0.0.1", "action": "POST /clusters", "outcome": "done",
        "summary": "Add the cluster", "cluster": "", "command_line": "", "detail": ENTRY.detail,
        "issuer": "", "subject": "",
    }  # fmt: skip
    assert first["time"].endswith("+00:00") and first["time"] < second["time"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_entry_that_cannot_be_written_is_in_the_log_of_the_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    AuditLog(tmp_path / "file" / "audit.jsonl", ManualClock()).write(ENTRY)
    [report] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert "ann" in report.getMessage() and "audit.jsonl" in report.getMessage()


def test_without_a_file_an_entry_is_in_the_log_of_the_process(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "kafka_py"):
        AuditLog(None, ManualClock()).write(ENTRY)
    assert ["ann" in each.getMessage() for each in caplog.records] == [True]
