"""The audit log: one line of JSON for each change, refused change and login.

Layout: an object per line with time (ISO 8601, UTC), user, address, cluster, action, summary, command_line, outcome
(`done`, `failed`, `refused`), detail, issuer and subject. The last two are of the provider that a user has logged in
by, and empty for users of the users file: two users may have the same name.
"""

from __future__ import annotations

import json
import logging
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from kafka_py.base.clock import Clock

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """What was asked for, by whom, and what came of it. command_line has no secrets."""

    user: str
    address: str
    action: str
    outcome: str
    summary: str = ""
    cluster: str = ""
    command_line: str = ""
    detail: str = ""
    issuer: str = ""
    subject: str = ""


class AuditLog:
    """Appends entries to a file, which only its owner may read; without a file they go to the process's log only."""

    def __init__(self, path: Path | None, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def write(self, entry: AuditEntry) -> None:
        """Appends one entry. A file that cannot be written is reported in the process's log, with the entry."""
        moment = datetime.fromtimestamp(self._clock.wall_ms() / 1000, UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"time": moment, **asdict(entry)})
        _log.info("Audit: %s", line)
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            _log.error("The audit log %s cannot be written (%s), so the entry is here: %s", self._path, error, line)
