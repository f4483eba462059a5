"""The manager as one ASGI application: routes, their JSON forms, static files, and what runs beside them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.manager.pages.table import BACKGROUND, ROUTES
from kafka_py.manager.services import ManagerServices, services_of
from kafka_py.manager.settings import ManagerSettings
from kafka_py.manager.web.dispatch import PageDispatcher
from kafka_py.manager.web.headers import THIS_MACHINE, ProtectiveHeaders
from kafka_py.manager.web.openapi import describe
from kafka_py.manager.web.rendering import STATIC
from kafka_py.manager.web.routes import WebRoute
from kafka_py.manager.web.values import to_bytes


def create_app(
    settings: ManagerSettings, environment: ClientEnvironment = SYSTEM, *, routes: Sequence[WebRoute] = ROUTES
) -> Starlette:
    """The application. Raises ConfigError for settings that cannot be."""
    settings.validate()
    services = services_of(settings, environment)
    dispatcher = PageDispatcher(services, routes)
    app = Starlette(
        routes=_starlette_routes(dispatcher, routes),
        middleware=[
            *_proxies(settings),
            Middleware(ProtectiveHeaders, names=_names(settings), is_tls=settings.tls_certificate is not None)
        ],
        exception_handlers={404: dispatcher.not_found, 405: dispatcher.not_found},
        lifespan=lambda _: _running(services),
    )
    app.state.services = services
    return app


@contextlib.asynccontextmanager
async def _running(services: ManagerServices) -> AsyncIterator[None]:
    """Starts what runs beside the pages, and closes everything at the end."""
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(services.clusters.close)
        if services.oidc is not None:
            stack.push_async_callback(services.oidc.close)
        for background in BACKGROUND:
            await stack.enter_async_context(background(services))
        yield


def _proxies(settings: ManagerSettings) -> list[Middleware]:
    """The first one that a request passes: everything after it sees the address of the browser, not of the proxy."""
    if not settings.trusted_proxies:
        return []
    return [Middleware(ProxyHeadersMiddleware, trusted_hosts=list(settings.trusted_proxies))]


def _names(settings: ManagerSettings) -> tuple[str, ...] | None:
    if settings.has_login and not settings.public_names:
        return None
    return (*THIS_MACHINE, settings.host.lower(), *(name.lower() for name in settings.public_names))


def _starlette_routes(dispatcher: PageDispatcher, routes: Sequence[WebRoute]) -> list[BaseRoute]:
    document = to_bytes(describe(routes))

    async def openapi(_request: Request) -> Response:
        return Response(document, media_type="application/json")

    rows: list[BaseRoute] = [Route("/api/openapi.json", openapi)]
    for route in routes:
        if route.in_api:
            path = f"/api{route.path.rstrip('/')}"
            rows.append(Route(path, dispatcher.api_endpoint(route), methods=[route.method]))
        endpoint = dispatcher.api_endpoint(route) if route.is_for_programs else dispatcher.page_endpoint(route)
        rows.append(Route(route.path, endpoint, methods=[route.method]))
    rows.append(Mount("/static", StaticFiles(directory=STATIC)))
    return rows
