"""Who sends a request, and whether it may be answered: sessions, Basic logins, roles and CSRF tokens.

A page is asked for with the cookie of a session; where nobody logs in everybody has a session as `anonymous`. A call of
the JSON interface has the cookie, or a name and password (RFC 7617). A change with a cookie needs the session's CSRF
token as well, in the form or in the header X-CSRF-Token; a change under /api must be application/json, which no form of
another site can send.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from typing import NamedTuple

from starlette.requests import Request

from kafka_py.manager.identity.audit import AuditEntry
from kafka_py.manager.identity.roles import AccessRole, WebUser
from kafka_py.manager.identity.sessions import BrowserSession
from kafka_py.manager.identity.users import MOST_PASSWORD, UsersFileError
from kafka_py.manager.services import ManagerServices

COOKIE = "kafka_manager"
ANONYMOUS = "anonymous"
SCRAPER = "metrics_token"
"""What the audit log calls a program that reads the metrics with the token of that setting."""


class NotLoggedIn(Exception):
    """Nobody is logged in. has_expired: the request came with a session that has ended."""

    def __init__(self, has_expired: bool = False) -> None:
        super().__init__("Your session has ended: log in again" if has_expired else "Log in first")
        self.has_expired = has_expired


class LoginRefused(Exception):
    """A wrong name or password, or another secret. wait_ms: until the next attempt is looked at."""

    def __init__(self, wait_ms: int = 0, *, secret: str = "Name or password") -> None:
        wait = f"; the next attempt is possible in {-(-wait_ms // 1000)} s" if wait_ms else ""
        super().__init__(f"{secret} is wrong{wait}" if not wait_ms else f"Too many failed logins{wait}")
        self.wait_ms = wait_ms


class Admitted(NamedTuple):
    """Who sends the request. session: None where it has a password instead."""

    user: WebUser
    session: BrowserSession | None
    is_new: bool = False


def address_of(request: Request) -> str:
    """Where the request comes from."""
    return request.client.host if request.client is not None else "unknown"


def anonymous_user(services: ManagerServices) -> WebUser:
    """Everybody, where nobody logs in."""
    role = AccessRole.ADMINISTRATOR if services.settings.allow_changes else AccessRole.READER
    return WebUser(ANONYMOUS, role)


async def admit(services: ManagerServices, request: Request, *, is_api: bool) -> Admitted | None:
    """Who sends the request; None for nobody. Raises LoginRefused, NotLoggedIn for a session that has ended."""
    authorization = request.headers.get("authorization", "")
    if is_api and services.users is not None and authorization.lower().startswith("basic "):
        name, password = _credentials(authorization[6:])
        return Admitted(await log_in(services, name, password, address_of(request)), None)
    key = request.cookies.get(COOKIE, "")
    session = services.sessions.find(key) if key else None
    if session is not None and services.has_login:
        session = _with_role_of_today(services, session)
    if session is not None:
        return Admitted(session.user, session)
    if not services.has_login:
        if is_api:
            return Admitted(anonymous_user(services), None)
        return Admitted(anonymous_user(services), services.sessions.open(anonymous_user(services)), is_new=True)
    if key:
        raise NotLoggedIn(has_expired=True)
    return None


def admit_scraper(services: ManagerServices, request: Request) -> Admitted | None:
    """A reader, for the token that programs read the metrics with; None for a request without a token.

    A wrong token delays other tokens of the same address, but not the program that has the right one somewhere else.
    Raises LoginRefused, ConfigError.
    """
    authorization = request.headers.get("authorization", "")
    if services.scrape_token is None or not authorization.lower().startswith("bearer "):
        return None
    address = address_of(request)
    attempts = f"{SCRAPER} at {address}"
    wait_ms = services.throttle.wait_ms(address, attempts)
    if wait_ms:
        raise LoginRefused(wait_ms)
    if not services.scrape_token.is_same(authorization[7:].strip()):
        services.throttle.failed(address, attempts)
        services.audit.write(AuditEntry(SCRAPER, address, "login", "refused"))
        raise LoginRefused(secret="The token")
    services.throttle.succeeded(address, attempts)
    return Admitted(WebUser(SCRAPER, AccessRole.READER), None)


def _with_role_of_today(services: ManagerServices, session: BrowserSession) -> BrowserSession | None:
    """The session with the role that its user has now; None for one that may no longer come in."""
    role = _role_now(services, session.user)
    if role is None:
        services.sessions.close(session.key)
        return None
    session.user = session.user._replace(role=role)
    return session


def _role_now(services: ManagerServices, user: WebUser) -> AccessRole | None:
    """Of a user of the file: as the file is now, None if removed or with another password. Others keep the role that
    their provider gave them until the session ends. Raises UsersFileError."""
    if user.issuer:
        return user.role if services.oidc is not None else None
    return None if services.users is None else services.users.role_now(user)


def _credentials(encoded: str) -> tuple[str, str]:
    try:
        name, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise LoginRefused from None
    if not colon:
        raise LoginRefused
    return name, password


async def log_in(services: ManagerServices, name: str, password: str, address: str) -> WebUser:
    """The user whose name and password these are. Raises LoginRefused, UsersFileError."""
    assert services.users is not None
    wait_ms = services.throttle.wait_ms(address, name)
    if wait_ms:
        raise LoginRefused(wait_ms)
    async with services.password_checks:
        wait_ms = services.throttle.wait_ms(address, name)  # others may have failed while this one waited for its turn
        if wait_ms:
            raise LoginRefused(wait_ms)
        user = await asyncio.to_thread(services.users.authenticate, name, password[:MOST_PASSWORD])
    if user is None:
        services.throttle.failed(address, name)
        services.audit.write(AuditEntry(name[:100], address, "login", "refused"))
        raise LoginRefused
    services.throttle.succeeded(address, name)
    return user


def effective_role(services: ManagerServices, user: WebUser, cluster_is_read_only: bool) -> AccessRole:
    """What the user may do here: reading only, where the manager or the cluster is read-only."""
    if services.settings.is_read_only or cluster_is_read_only:
        return min(user.role, AccessRole.READER)
    return user.role


def is_still_admitted(services: ManagerServices, session: BrowserSession, role: AccessRole) -> bool:
    """Whether a session goes on with at least that role. Does not count as use."""
    if not services.sessions.is_open(session.key):
        return False
    if not services.has_login:
        return True
    try:
        return (_role_now(services, session.user) or AccessRole.NOBODY) >= role
    except UsersFileError:
        return False


def is_from_another_site(request: Request) -> bool:
    """Whether the browser says so: in Sec-Fetch-Site, or, where it has no TLS and sends none, in Origin."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower()


def is_embedded_elsewhere(request: Request) -> bool:
    """Whether a page of another site asks for a part of itself, an image for example; links to pages are welcome."""
    if request.headers.get("sec-fetch-site") != "cross-site":
        return False
    return (request.headers.get("sec-fetch-mode"), request.headers.get("sec-fetch-dest")) != ("navigate", "document")


def has_csrf_token(session: BrowserSession, given: str) -> bool:
    """Whether a form or header bears the session's token."""
    return hmac.compare_digest(session.csrf_token.encode(), given.encode())
