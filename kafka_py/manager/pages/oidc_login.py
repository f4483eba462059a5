"""Logging in and out by a provider: to it, back from it, and the end of its own session.

The provider is reached by links and redirects, never by a form: the policy of the pages lets forms go to the manager
only, redirects that follow included. That is why a logout has a page in between.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from kafka_py.manager.identity.audit import AuditEntry
from kafka_py.manager.identity.oidc.flow_messages import CallbackAnswer, OidcRefused
from kafka_py.manager.identity.oidc.settings import CALLBACK_PATH, LOGOUT_PATH, START_PATH
from kafka_py.manager.identity.oidc.transactions import COOKIE_PREFIX, LIFETIME_MS, cookie_of
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.pages.login import LoginPage, local_path, login_page
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.dispatch import set_session_cookie
from kafka_py.manager.web.requests import NotFound, PageRequest
from kafka_py.manager.web.routes import WebRoute

MOST_TABS = 8
"""A browser with so many logins under way is one that was sent here again and again: it forgets them."""
NO_PROVIDER = "This manager has no provider to log in by"


@dataclass(frozen=True, slots=True)
class LoggedOutPage:
    """provider: whose session ends at the url."""

    provider: str
    url: str


async def start(request: PageRequest) -> Page | Response:
    """Sends the browser to the provider."""
    oidc = request.services.oidc
    if oidc is None:
        raise NotFound(NO_PROVIDER)
    wanted = local_path(request.text("next", "/"))
    try:
        started = await oidc.start(wanted)
    except OidcRefused as error:
        return await login_page(request.services, LoginPage(wanted, str(error)), error.status)
    response = RedirectResponse(started.url, 303)
    kept = [name for name in request.cookies if name.startswith(COOKIE_PREFIX)]
    for name in kept if len(kept) >= MOST_TABS else ():
        response.delete_cookie(name, path=START_PATH)
    response.set_cookie(
        started.transaction.cookie, started.transaction.secret, max_age=LIFETIME_MS // 1000, path=START_PATH,
        httponly=True, samesite="lax", secure=oidc.settings.is_https,
    )  # fmt: skip
    return response


async def finish(request: PageRequest) -> Page | Response:
    """Checks what the provider says, and opens a session."""
    services, oidc = request.services, request.services.oidc
    if oidc is None:
        raise NotFound(NO_PROVIDER)
    issuer = oidc.settings.issuer
    given = ("state", "code", "iss", "error", "error_description")
    answer = CallbackAnswer(*(request.text(name, "") for name in given))
    try:
        done = await oidc.finish(answer, request.cookies)
    except OidcRefused as error:
        left_out = services.refused_logins.count(request.address)
        if left_out is not None:
            more = f" ({left_out} more refused from this address since its last entry)" if left_out else ""
            services.audit.write(AuditEntry(
                error.user, request.address, "login", "refused", detail=f"{error.detail}{more}", issuer=issuer
            ))  # fmt: skip
        return await login_page(services, LoginPage("/", str(error)), error.status)
    if request.session is not None:
        services.sessions.close(request.session.key)
    user = done.user
    services.audit.write(
        AuditEntry(user.name, request.address, "login", "done", issuer=user.issuer, subject=user.subject)
    )
    longest_ms = oidc.settings.session_longest_minutes * 60_000
    session = services.sessions.open(user, longest_ms=longest_ms, id_token=done.id_token)
    response = RedirectResponse(local_path(done.next), 303)
    set_session_cookie(response, session.key, services, is_https=oidc.settings.is_https)
    response.delete_cookie(cookie_of(answer.state), path=START_PATH)
    return response


async def logged_out(request: PageRequest) -> Page | Response:
    """The page after a logout, from which the browser goes to the provider's."""
    oidc = request.services.oidc
    url = "" if oidc is None else oidc.logout_url(request.text("number", ""))
    if oidc is None or not url:
        return RedirectResponse("/login", 303)
    return Page("logged_out.html", LoggedOutPage(oidc.settings.shown_title, url), "Logged out")


ROUTES = (
    WebRoute("GET", START_PATH, AccessRole.NOBODY, start, "Logs in by the provider.", LoginPage, in_api=False),
    WebRoute("GET", CALLBACK_PATH, AccessRole.NOBODY, finish, "Back from the provider.", LoginPage, in_api=False,
             is_once=True),
    WebRoute(
        "GET", LOGOUT_PATH, AccessRole.NOBODY, logged_out, "Logs out of the provider.", LoggedOutPage, in_api=False,
        is_once=True,
    ),
)  # fmt: skip
