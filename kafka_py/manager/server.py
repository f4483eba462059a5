"""Serves the manager with uvicorn until a signal ends it."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette

from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.manager.app import create_app
from kafka_py.manager.preflight import check_settings
from kafka_py.manager.settings import ManagerSettings

END_WITHIN_S = 5
"""Pages under way when it ends, a live tail for example, are cut off then."""


def listening(settings: ManagerSettings) -> socket.socket:
    """The socket that the manager listens on. Raises OSError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    return socket.create_server((settings.host, settings.port), family=family)


def application(settings: ManagerSettings, environment: ClientEnvironment = SYSTEM) -> Starlette:
    """The manager of these settings, all of which are checked. Raises ConfigError."""
    check_settings(settings)
    return create_app(settings, environment)


def serve(app: Starlette, settings: ManagerSettings, listener: socket.socket) -> None:
    """Runs until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ssl_certfile=settings.tls_certificate,
        ssl_keyfile=settings.tls_key,
        timeout_graceful_shutdown=END_WITHIN_S,
    )
    uvicorn.Server(config).run(sockets=[listener])
