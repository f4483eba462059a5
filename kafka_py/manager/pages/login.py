"""Logging in and out."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from kafka_py.manager.identity.audit import AuditEntry
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.web.admission import COOKIE, LoginRefused, log_in
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.dispatch import set_session_cookie
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import WebRoute


@dataclass(frozen=True, slots=True)
class LoginPage:
    """next: the path of the page that was asked for. problem: why the last attempt failed."""

    next: str
    problem: str = ""
    name: str = ""
    has_expired: bool = False
    is_unsent: bool = False


def local_path(text: str) -> str:
    """The path if it is one of this site; else that of the first page, for a link may name any other."""
    is_local = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if is_local and not text.startswith("/login") else "/"


async def show(request: PageRequest) -> Page | Response:
    """The form; whoever is logged in already goes to the page."""
    wanted = local_path(request.text("next", "/"))
    if request.session is not None:
        return RedirectResponse(wanted, 303)
    model = LoginPage(wanted, has_expired=request.flag("expired"), is_unsent=request.flag("unsent"))
    return Page("login.html", model, "Log in")


async def submit(request: PageRequest) -> Page | Response:
    """Checks name and password, and opens a session."""
    services = request.services
    wanted = local_path(request.text("next", "/"))
    if services.users is None:
        return RedirectResponse("/", 303)
    name = request.text("name", "")
    try:
        user = await log_in(services, name, "".join(request.form.get("password", ())), request.address)
    except LoginRefused as error:
        status = 429 if error.wait_ms else 401
        return Page("login.html", LoginPage(wanted, f"{error}.", name[:100]), "Log in", status)
    if request.session is not None:
        services.sessions.close(request.session.key)
    services.audit.write(AuditEntry(user.name, request.address, "login", "done"))
    response = RedirectResponse(wanted, 303)
    set_session_cookie(response, services.sessions.open(user).key, services)
    return response


async def leave(request: PageRequest) -> Response:
    """Ends the session."""
    if request.session is not None:
        request.services.sessions.close(request.session.key)
    response = RedirectResponse("/login" if request.services.users is not None else "/", 303)
    response.delete_cookie(COOKIE, path="/")
    return response


ROUTES = (
    WebRoute("GET", "/login", AccessRole.NOBODY, show, "The form to log in.", LoginPage, in_api=False),
    WebRoute("POST", "/login", AccessRole.NOBODY, submit, "Logs in.", LoginPage, in_api=False),
    WebRoute("POST", "/logout", AccessRole.NOBODY, leave, "Logs out.", LoginPage, in_api=False),
)
