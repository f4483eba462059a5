"""The web manager for tests: called without a socket, or served on one for a browser."""

from __future__ import annotations

import asyncio
import socket
import threading
from types import TracebackType
from typing import Any, Self

import httpx
import uvicorn
from starlette.applications import Starlette

from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.manager.app import create_app
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.settings import ManagerSettings

END_TIMEOUT_S = 30
ORIGIN = "http://localhost"


class CalledManager:
    """The application and a client of it that has cookies, on the test's own loop. Use it as an async context."""

    def __init__(self, settings: ManagerSettings, environment: ClientEnvironment = SYSTEM, **options: Any) -> None:
        self.app: Starlette = create_app(settings, environment, **options)
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url=ORIGIN)
        self._lifespan = self.app.router.lifespan_context(self.app)

    @property
    def services(self) -> ManagerServices:
        services: ManagerServices = self.app.state.services
        return services

    async def __aenter__(self) -> Self:
        await self._lifespan.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.aclose()
        await self._lifespan.__aexit__(kind, error, trace)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        """One page, without following redirects."""
        return await self.client.get(path, **options)

    async def token(self) -> str:
        """The CSRF token of the client's session, which the first page opens."""
        key = self.client.cookies.get("kafka_manager") or ""
        if self.services.sessions.find(key) is None:
            await self.client.get("/login")
            key = self.client.cookies.get("kafka_manager") or ""
        session = self.services.sessions.find(key)
        return "" if session is None else session.csrf_token

    async def submit(self, path: str, **fields: Any) -> httpx.Response:
        """Sends a form with the session's token. With step="apply" a change is made, else shown."""
        return await self.client.post(path, data={"csrf_token": await self.token(), **fields})

    async def call(self, path: str, **members: Any) -> httpx.Response:
        """Asks for a change through the JSON interface."""
        headers = {"X-CSRF-Token": await self.token()}
        return await self.client.post(f"/api{path}", json=members, headers=headers)

    async def log_in(self, name: str, password: str) -> httpx.Response:
        """Logs in by the form."""
        return await self.client.post("/login", data={"name": name, "password": password})


class ServedManager:
    """The manager on a free port of this machine, on a loop in a thread of its own, for browsers."""

    def __init__(
        self, settings: ManagerSettings, environment: ClientEnvironment = SYSTEM, *, port: int = 0, **options: Any
    ) -> None:
        """port: one that others were told before; 0: any free one."""
        self.app: Starlette = create_app(settings, environment, **options)
        self._socket = socket.create_server(("127.0.0.1", port))
        config = uvicorn.Config(self.app, log_config=None, lifespan="on", loop="asyncio")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run, name="web-manager")

    @property
    def services(self) -> ManagerServices:
        services: ManagerServices = self.app.state.services
        return services

    @property
    def url(self) -> str:
        """Without a slash at the end."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()  # connections wait in the socket's queue until it serves
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join(END_TIMEOUT_S)
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))
