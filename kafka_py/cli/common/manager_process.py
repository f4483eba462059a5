"""The process of the web manager: from its settings until a signal ends it.

Starlette, uvicorn and Jinja2 are imported when it is served, so that commands start without them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafka_py.base.errors import ConfigError
from kafka_py.cli.common.command import CommandFailed, log_warnings

if TYPE_CHECKING:
    from kafka_py.manager.settings import ManagerSettings


def check_extra() -> None:
    """Raises CommandFailed where the libraries of the extra `manager` are not installed."""
    try:
        import jinja2  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise CommandFailed(f"The web manager needs the extra: pip install 'kafka_py[manager]' ({error})") from None


def serve_manager(settings: ManagerSettings) -> None:
    """Listens, says where, and serves until SIGINT or SIGTERM. Raises ConfigError before it serves."""
    log_warnings()
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    from kafka_py.manager.server import application, listening, serve

    app = application(settings)
    try:
        listener = listening(settings)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "that is no host name"
        at = f"{settings.host}:{settings.port}"
        raise ConfigError(f"The manager cannot listen on {at}: {reason}; change the setting host or port") from None
    announce(settings)
    serve(app, settings, listener)


def announce(settings: ManagerSettings) -> None:
    """Says where the manager is, and who may do what."""
    scheme = "https" if settings.tls_certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    if settings.has_login:
        sources = [str(settings.users)] if settings.users is not None else []
        sources += [settings.oidc.issuer] if settings.oidc is not None else []
        who = f"users of {' and '.join(sources)} log in"
    elif settings.allow_changes and not settings.is_read_only:
        who = "everybody on this machine may read and change"
    else:
        who = "everybody on this machine may read; --allow-changes lets them change, --users FILE makes them log in"
    print(f"The manager is at {scheme}://{host}:{settings.port}/ ({who}).", flush=True)
