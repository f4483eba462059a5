"""Serves the manager with uvicorn until a signal ends it."""

from __future__ import annotations

import uvicorn

from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.manager.app import create_app
from kafka_py.manager.settings import ManagerSettings

END_WITHIN_S = 5
"""Pages under way when it ends, a live tail for example, are cut off then."""


def serve(settings: ManagerSettings, environment: ClientEnvironment = SYSTEM) -> None:
    """Runs until SIGINT or SIGTERM. Raises ConfigError; exits with an error where the port cannot be had."""
    config = uvicorn.Config(
        create_app(settings, environment),
        host=settings.host,
        port=settings.port,
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
    uvicorn.Server(config).run()
