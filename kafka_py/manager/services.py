"""The parts of one running manager, handed to every page."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_py.base.errors import ConfigError
from kafka_py.clients.environment import ClientEnvironment
from kafka_py.manager.clusters import ManagedClusters
from kafka_py.manager.identity.audit import AuditLog
from kafka_py.manager.identity.login_throttle import LoginThrottle
from kafka_py.manager.identity.oidc.refusals import RefusedLogins
from kafka_py.manager.identity.oidc.settings import OidcSettings
from kafka_py.manager.identity.scrape_token import ScrapeToken
from kafka_py.manager.identity.sessions import BrowserSessions
from kafka_py.manager.identity.users import UsersFile
from kafka_py.manager.settings import ManagerSettings
from kafka_py.manager.submissions import Submissions

if TYPE_CHECKING:
    from kafka_py.manager.identity.oidc.logins import OidcLogins


@dataclass(frozen=True, slots=True)
class ManagerServices:
    """users: None without a users file. oidc: None without a provider. scrape_token: None without a file.

    parts: what a page's subject keeps for the life of the manager, by name.
    password_checks: how many run at the same time, for each takes 16 MiB.
    """

    settings: ManagerSettings
    environment: ClientEnvironment
    clusters: ManagedClusters
    sessions: BrowserSessions
    throttle: LoginThrottle
    audit: AuditLog
    refused_logins: RefusedLogins
    submissions: Submissions[Any]
    users: UsersFile | None = None
    oidc: OidcLogins | None = None
    scrape_token: ScrapeToken | None = None
    parts: dict[str, Any] = field(default_factory=dict)
    password_checks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))

    @property
    def has_login(self) -> bool:
        """Whether whoever uses the manager has to log in."""
        return self.settings.has_login

    @contextlib.contextmanager
    def folder_of(self, part: str) -> Iterator[Path]:
        """Where a part keeps its files: in the data folder, or else in a temporary one until the part ends."""
        if self.settings.data is not None:
            folder = self.settings.data / part
            folder.mkdir(parents=True, exist_ok=True)
            yield folder
            return
        with tempfile.TemporaryDirectory(prefix="kafka-manager-") as name:
            yield Path(name)


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
        RefusedLogins(clock),
        Submissions(),
        None if settings.users is None else UsersFile(settings.users),
        None if settings.oidc is None else _oidc_of(settings.oidc, environment),
        None if settings.metrics_token is None else _scrape_token_of(settings.metrics_token),
    )  # fmt: skip


def _scrape_token_of(path: Path) -> ScrapeToken:
    """Raises ConfigError for a file without a token: at the start, not at the first scrape."""
    token = ScrapeToken(path)
    token.read()
    return token


def _oidc_of(settings: OidcSettings, environment: ClientEnvironment) -> OidcLogins:
    """Raises ConfigError, also where the packages are missing."""
    try:
        from kafka_py.manager.identity.oidc.logins import OidcLogins
    except ImportError as error:
        raise ConfigError(f"[oidc] needs the extra: pip install 'kafka_py[oidc]' ({error})") from None
    return OidcLogins(settings, environment.clock, environment.chance)
