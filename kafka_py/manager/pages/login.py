"""Logging in and out, by a name and a password; oidc_login.py has the logins by a provider."""

from __future__ import annotations

from dataclasses import dataclass, replace

from starlette.responses import RedirectResponse, Response

from kafka_py.manager.identity.audit import AuditEntry
from kafka_py.manager.identity.oidc.settings import LOGOUT_PATH, START_PATH
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.web.admission import COOKIE, LoginRefused, log_in
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.dispatch import set_session_cookie
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import WebRoute


@dataclass(frozen=True, slots=True)
class LoginPage:
    """next: the path of the page that was asked for. problem: why the last attempt failed.

    has_password: whether names and passwords are taken. provider: what else one may log in by, with the address where
    that begins; provider_problem: why it cannot be used now.
    """

    next: str
    problem: str = ""
    name: str = ""
    has_expired: bool = False
    is_unsent: bool = False
    has_password: bool = True
    provider: str = ""
    provider_path: str = ""
    provider_problem: str = ""


LONGEST_PATH = 2_000
"""Of a page to go to after a login: whoever is not logged in sends any, and it is kept until the login is finished."""


def local_path(text: str) -> str:
    """The path if it is one of this site; else that of the first page, for a link may name any other."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\", "/login")) and text.isprintable()
    return text if is_local and len(text) <= LONGEST_PATH else "/"


async def login_page(services: ManagerServices, model: LoginPage, status: int = 200) -> Page:
    """The form with all ways to log in."""
    if services.oidc is not None:
        settings = services.oidc.settings
        fault = await services.oidc.fault()
        model = replace(
            model, has_password=services.users is not None, provider=settings.shown_title,
            provider_path=f"{settings.public_url}{START_PATH}?next={part(model.next)}",
            provider_problem="" if fault == model.problem else fault,
        )  # fmt: skip
    return Page("login.html", model, "Log in", status)


async def show(request: PageRequest) -> Page | Response:
    """The form; whoever is logged in already goes to the page."""
    wanted = local_path(request.text("next", "/"))
    if request.session is not None:
        return RedirectResponse(wanted, 303)
    model = LoginPage(wanted, has_expired=request.flag("expired"), is_unsent=request.flag("unsent"))
    return await login_page(request.services, model)


async def submit(request: PageRequest) -> Page | Response:
    """Checks name and password, and opens a session."""
    services = request.services
    wanted = local_path(request.text("next", "/"))
    if services.users is None:
        return RedirectResponse("/login" if services.has_login else "/", 303)
    name = request.text("name", "")
    try:
        user = await log_in(services, name, "".join(request.form.get("password", ())), request.address)
    except LoginRefused as error:
        status = 429 if error.wait_ms else 401
        return await login_page(services, LoginPage(wanted, f"{error}.", name[:100]), status)
    if request.session is not None:
        services.sessions.close(request.session.key)
    services.audit.write(AuditEntry(user.name, request.address, "login", "done"))
    response = RedirectResponse(wanted, 303)
    set_session_cookie(response, services.sessions.open(user).key, services, is_https=request.is_https)
    return response


async def leave(request: PageRequest) -> Response:
    """Ends the session; that with the provider is ended on a page of its own."""
    services, session = request.services, request.session
    path = "/login" if services.has_login else "/"
    if session is not None:
        services.sessions.close(session.key)
        if session.id_token and services.oidc is not None:
            path = f"{LOGOUT_PATH}?number={services.oidc.begin_logout(session.id_token)}"
    response = RedirectResponse(path, 303)
    response.delete_cookie(COOKIE, path="/")
    return response


ROUTES = (
    WebRoute("GET", "/login", AccessRole.NOBODY, show, "The form to log in.", LoginPage, in_api=False),
    WebRoute("POST", "/login", AccessRole.NOBODY, submit, "Logs in.", LoginPage, in_api=False),
    WebRoute("POST", "/logout", AccessRole.NOBODY, leave, "Logs out.", LoginPage, in_api=False),
)
