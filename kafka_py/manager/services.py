"""The parts of one running manager, handed to every page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.clusters import ManagedClusters
from kafka_py.manager.identity.audit import AuditLog
from kafka_py.manager.identity.login_throttle import LoginThrottle
from kafka_py.manager.identity.sessions import BrowserSessions
from kafka_py.manager.identity.users import UsersFile
from kafka_py.manager.settings import ManagerSettings
from kafka_py.manager.web.submissions import Submissions


@dataclass(frozen=True, slots=True)
class ManagerServices:
    """users: None where nobody logs in. parts: what a page's subject keeps for the life of the manager, by name.

    password_checks: how many run at the same time, for each takes 16 MiB.
    """

    settings: ManagerSettings
    environment: ClientEnvironment
    clusters: ManagedClusters
    sessions: BrowserSessions
    throttle: LoginThrottle
    audit: AuditLog
    submissions: Submissions
    users: UsersFile | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    password_checks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))


def services_of(settings: ManagerSettings, environment: ClientEnvironment) -> ManagerServices:
    """The parts that these settings describe. Raises ConfigError."""
    clock = environment.clock
    return ManagerServices(
        settings,
        environment,
        ManagedClusters(settings.clusters, environment, settings.data),
        BrowserSessions(
            clock, environment.chance,
            idle_ms=settings.session_idle_minutes * 60_000, longest_ms=settings.session_longest_hours * 3_600_000,
        ),
        LoginThrottle(clock),
        AuditLog(settings.audit_log or (settings.data / "audit.jsonl" if settings.data else None), clock),
        Submissions(),
        None if settings.users is None else UsersFile(settings.users),
    )  # fmt: skip
