"""From a request to its handler, and from the handler's answer to a page, a redirect or a JSON document.

A change is asked for twice by a form: the first time it is shown with the command that does the same, the second time,
with `step=apply` and the number of the form, it is made; if it would not come to what was shown, it is shown again.
The JSON interface makes it at once, unless `dry_run` is true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from kafka_py.base.errors import KafkaError
from kafka_py.manager.identity.audit import AuditEntry
from kafka_py.manager.identity.roles import AccessRole, WebUser
from kafka_py.manager.identity.sessions import BrowserSession
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.web.admission import (
    COOKIE,
    Admitted,
    LoginRefused,
    NotLoggedIn,
    address_of,
    admit,
    admit_scraper,
    effective_role,
    has_csrf_token,
    is_embedded_elsewhere,
    is_from_another_site,
    is_still_admitted,
)
from kafka_py.manager.web.answers import ChangeAnswer, Failure, MadeChange, Page, PlannedChange, answer_of
from kafka_py.manager.web.bodies import LONGEST_BODY, LONGEST_OPEN_BODY, read_fields
from kafka_py.manager.web.failures import failed_answer
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.rendering import PageRenderer
from kafka_py.manager.web.requests import Fields, Forbidden, NotFound, PageRequest
from kafka_py.manager.web.routes import WebRoute
from kafka_py.manager.web.streaming import StreamedAnswer
from kafka_py.manager.web.values import to_bytes

NOBODY = WebUser("", AccessRole.NOBODY)
MOST_NOTICES = 20
CHANGED_SINCE = "What this would do has changed since it was shown, and nothing was done: look at it once more."


class PageDispatcher:
    """Makes endpoints of routes."""

    def __init__(self, services: ManagerServices, routes: Sequence[WebRoute]) -> None:
        self._services = services
        self._renderer = PageRenderer(routes)

    def page_endpoint(self, route: WebRoute) -> Callable[[Request], Any]:
        """The endpoint for browsers."""

        async def endpoint(request: Request) -> Response:
            return await self._answer(route, request, is_api=False)

        return endpoint

    def api_endpoint(self, route: WebRoute) -> Callable[[Request], Any]:
        """The endpoint below /api."""

        async def endpoint(request: Request) -> Response:
            return await self._answer(route, request, is_api=True)

        return endpoint

    async def not_found(self, request: Request, _error: Exception) -> Response:
        """The answer for a path without a route."""
        is_api = request.url.path.startswith("/api/")
        asked = self._bare(request, is_api)
        return self._failed(asked, NotFound(f"There is nothing at {request.url.path}"), "")

    async def _answer(self, route: WebRoute, request: Request, *, is_api: bool) -> Response:
        if route.is_once and request.method == "HEAD":
            return Response(status_code=405, headers={"Allow": "GET"})
        asked = self._bare(request, is_api)
        try:
            admitted = await self._admitted(route, request, is_api=is_api)
            asked = await self._request(route, request, admitted, is_api=is_api)
            response = await self._handled(route, asked)
        except NotLoggedIn as error:
            return _login_answer(request, error, is_api=is_api)
        except LoginRefused as error:
            return _refused_answer(error)
        except Exception as error:
            return self._failed(asked, error, route.section)
        return self._with_cookie(response, admitted)

    async def _admitted(self, route: WebRoute, request: Request, *, is_api: bool) -> Admitted | None:
        """Who sends the request; None for nobody where nobody has to be logged in. Raises NotLoggedIn, LoginRefused,
        Forbidden."""
        if is_embedded_elsewhere(request):
            raise Forbidden("Another site asks for this")
        try:
            admitted = admit_scraper(self._services, request) if route.takes_scrape_token else None
            admitted = admitted or await admit(self._services, request, is_api=is_api)
        except NotLoggedIn:
            if route.role is not AccessRole.NOBODY:
                raise
            return None  # the login page itself, with the cookie of a session that has ended
        if admitted is None and route.role is not AccessRole.NOBODY:
            raise NotLoggedIn
        return admitted

    def _bare(self, request: Request, is_api: bool) -> PageRequest:
        """What is known before anybody was admitted."""
        return PageRequest(
            self._services, request.path_params, {}, {}, NOBODY, AccessRole.NOBODY, address_of(request),
            is_api=is_api, url_path=request.url.path,
        )  # fmt: skip

    async def _request(
        self, route: WebRoute, request: Request, admitted: Admitted | None, *, is_api: bool
    ) -> PageRequest:
        """The request as handlers have it. Raises NotFound, Forbidden, BadParameter."""
        user, session = (NOBODY, None) if admitted is None else (admitted.user, admitted.session)
        name = request.path_params.get("cluster")
        cluster = None if name is None else self._services.clusters.get(name)
        if name is not None and cluster is None:
            raise NotFound(f"There is no cluster {name}")
        form: Fields = {}
        if route.method == "POST":
            most = LONGEST_OPEN_BODY if admitted is None else LONGEST_BODY
            form = await read_fields(request, is_api=is_api, most=most)
            _require_own_form(request, form, session)
        query = {key: request.query_params.getlist(key) for key in request.query_params}
        role = effective_role(self._services, user, cluster is not None and cluster.settings.is_read_only)
        return PageRequest(
            self._services, request.path_params, query, form, user, role, address_of(request), session, cluster,
            is_api, request.url.path, "hx-request" in request.headers or request.method == "HEAD", request.cookies,
            request.url.scheme == "https",
        )  # fmt: skip

    async def _handled(self, route: WebRoute, asked: PageRequest) -> Response:
        if asked.role < route.role:
            self._audit(asked, route, "refused")
            only = "read-only" if asked.user.role >= route.role else f"for the role {route.role.title}"
            raise Forbidden(f"{route.summary} This is {only} here.")
        if route.method == "POST" and _is_applied(asked):
            try:
                return self._made_answer(route, asked, await self._make_once(route, asked))
            except _OtherAnswer as other:
                answer: Page | PlannedChange | Response = other.answer
        else:
            answer = await route.handler(asked)
        if isinstance(answer, StreamedAnswer) and asked.session is not None:
            answer.may_go_on = partial(is_still_admitted, self._services, asked.session, route.role)
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, PlannedChange):
            return self._shown(route, asked, answer)
        return self._page(asked, answer, route.section, has_api=route.in_api and route.method == "GET")

    def _page(self, asked: PageRequest, page: Page, section: str, *, has_api: bool = False) -> Response:
        if asked.is_api:
            return Response(to_bytes(page.model), page.status, media_type="application/json")
        api_path = f"/api{asked.url_path.rstrip('/')}" if has_api else None
        return HTMLResponse(self._renderer.render(page, asked, section, api_path=api_path), page.status)

    def _shown(self, route: WebRoute, asked: PageRequest, change: PlannedChange) -> Response:
        """A change that was not made yet."""
        model = answer_of(change)
        if asked.is_api:
            return self._page(asked, Page("", model), route.section)
        preview = _Preview(model, change, asked)
        return self._page(asked, Page("change.html", preview, change.summary), route.section)

    async def _make_once(self, route: WebRoute, asked: PageRequest) -> MadeChange:
        """Plans a change and makes it; a form that was sent before is answered with what came of it."""

        async def work() -> MadeChange:
            change = await route.handler(asked)
            if not isinstance(change, PlannedChange):
                raise _OtherAnswer(change)
            if asked.text("shown", change.digest) != change.digest:
                raise _OtherAnswer(replace(change, warnings=[CHANGED_SINCE, *change.warnings]))
            return await self._make(route, asked, change)

        number = asked.text("submission", "")
        if not number:
            return await work()
        owner = asked.session.key if asked.session is not None else f"user:{asked.user.name}"
        content = hashlib.sha256(repr(sorted(asked.form.items())).encode()).hexdigest()
        made: MadeChange = await self._services.submissions.once(owner, f"{asked.url_path} {number} {content}", work)
        return made

    async def _make(self, route: WebRoute, asked: PageRequest, change: PlannedChange) -> MadeChange:
        try:
            message = await change.apply()
        except BaseException as error:  # also one that is cut off, for it may have been made
            why = error.message if isinstance(error, KafkaError) else str(error) or type(error).__name__
            self._audit(asked, route, "failed", change, why)
            raise
        self._audit(asked, route, "done", change, message)
        return MadeChange(answer_of(change, message), change.back)

    def _made_answer(self, route: WebRoute, asked: PageRequest, made: MadeChange) -> Response:
        if asked.is_api:
            return self._page(asked, Page("", made.answer), route.section)
        if asked.session is not None and made.answer.message not in asked.session.notices:
            asked.session.notices.append(made.answer.message)
            del asked.session.notices[:-MOST_NOTICES]
        return RedirectResponse(made.back, 303)

    def _failed(self, asked: PageRequest, error: Exception, section: str) -> Response:
        name = asked.path.get("cluster", "")
        known = self._services.clusters.get(name)
        status, failure = failed_answer(error, name if known else "", self._services.environment.chance)
        return self._page(asked, Page("failure.html", failure, failure.code.replace("_", " "), status), section)

    def _audit(
        self, asked: PageRequest, route: WebRoute, outcome: str, change: PlannedChange | None = None, detail: str = ""
    ) -> None:
        if route.method == "GET":
            return
        self._services.audit.write(AuditEntry(
            asked.user.name, asked.address, f"{route.method} {route.path}", outcome,
            route.summary if change is None else change.summary, asked.path.get("cluster", ""),
            "" if change is None else change.command_line, detail, asked.user.issuer, asked.user.subject,
        ))  # fmt: skip

    def _with_cookie(self, response: Response, admitted: Admitted | None) -> Response:
        if admitted is not None and admitted.is_new and admitted.session is not None:
            set_session_cookie(response, admitted.session.key, self._services)
        return response


def _require_own_form(request: Request, form: Fields, session: BrowserSession | None) -> None:
    """Raises Forbidden for a form that another site sent, or that was shown in another session."""
    if is_from_another_site(request):
        raise Forbidden("Another site sent this form")
    given = request.headers.get("x-csrf-token") or (form.get("csrf_token") or [""])[-1]
    if session is not None and not has_csrf_token(session, given):
        raise Forbidden("The form is not of this session: load the page again, and send it once more")


def _is_applied(asked: PageRequest) -> bool:
    """Whether a change is to be made, not only shown."""
    return not asked.flag("dry_run") if asked.is_api else asked.text("step", "") == "apply"


class _OtherAnswer(Exception):
    """A handler has planned no change, or another one than was shown: its form has to be corrected, for example."""

    def __init__(self, answer: Page | PlannedChange | Response) -> None:
        super().__init__("No change was planned")
        self.answer = answer


class _Preview:
    """The model of the page that shows a change: the answer, and the form to send again."""

    def __init__(self, answer: ChangeAnswer, change: PlannedChange, asked: PageRequest) -> None:
        self.answer = answer
        self.back = change.back
        self.path = asked.url_path
        leave_out = ("csrf_token", "step", "submission", "dry_run", "shown")
        fields = {name: values for name, values in asked.form.items() if name not in leave_out}
        fields |= {**change.pins, "shown": [change.digest]}
        self.fields = [(name, each) for name, values in fields.items() for each in values]


def set_session_cookie(response: Response, key: str, services: ManagerServices, *, is_https: bool = False) -> None:
    """Gives the browser its session; scripts cannot read it, and other sites' forms do not send it. is_https: whether
    the browser came by https, although TLS may end before the manager."""
    is_tls = is_https or services.settings.tls_certificate is not None
    response.set_cookie(COOKIE, key, httponly=True, samesite="lax", secure=is_tls, path="/")


def _login_answer(request: Request, error: NotLoggedIn, *, is_api: bool) -> Response:
    if is_api:
        failure = Failure("login_required", str(error))
        return Response(to_bytes(failure), 401, {"WWW-Authenticate": "Session"}, "application/json")
    wanted = request.url.path if request.method == "GET" else ""
    if request.method == "GET" and request.url.query:
        wanted += f"?{request.url.query}"
    reason = "&expired=true" if error.has_expired else ""
    path = f"/login?next={part(wanted or '/')}{reason}{'&unsent=true' if request.method == 'POST' else ''}"
    if request.headers.get("hx-request"):
        return Response(status_code=401, headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


def _refused_answer(error: LoginRefused) -> Response:
    status = 429 if error.wait_ms else 401
    headers = {"Retry-After": str(-(-error.wait_ms // 1000))} if error.wait_ms else {"WWW-Authenticate": "Session"}
    return Response(to_bytes(Failure("login_refused", str(error))), status, headers, "application/json")
