"""Templates, and what all of them share. Every value is escaped; no template marks one as safe."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import kafka_py
from kafka_py.manager.identity.sessions import new_token
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.formats import FILTERS
from kafka_py.manager.web.navigation import cluster_menu
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import WebRoute

TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"


@cache
def static_path(name: str) -> str:
    """The path of a static file, with a digest of its content so that a new one is not taken for the old."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


class PageRenderer:
    """Renders pages as HTML. routes: of all pages, for the menus."""

    def __init__(self, routes: Sequence[WebRoute]) -> None:
        self._routes = routes
        self._templates = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.filters.update(FILTERS)
        self._templates.globals.update(static=static_path, version=kafka_py.__version__)

    def render(self, page: Page, request: PageRequest, section: str, *, api_path: str | None = None) -> str:
        """The document. section: the marked entry of the menu. api_path: where the same is as JSON."""
        return self._templates.get_template(page.template).render(self._shared(request, section, api_path, page))

    def _shared(self, request: PageRequest, section: str, api_path: str | None, page: Page) -> dict[str, Any]:
        selected, session = request.selected, request.session
        notices: list[str] = []
        if session is not None and not request.is_fragment:  # whose place has no room for them
            notices, session.notices = session.notices, []
        return {
            "model": page.model,
            "title": page.title,
            "request": request,
            "user": request.user,
            "has_login": request.services.has_login,
            "may_change": request.may_change,
            "cluster": None if selected is None else selected.name,
            "clusters": [each.name for each in request.services.clusters],
            "menu": [] if selected is None else cluster_menu(self._routes, selected.name, section),
            "csrf_token": "" if session is None else session.csrf_token,
            "new_submission": lambda: new_token(request.services.environment.chance),
            "notices": notices,
            "api_path": api_path,
        }
