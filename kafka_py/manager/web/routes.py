"""A route: one row says where a page or a change is, who may use it, what it takes and what it answers.

Every route exists twice: as a page, and as JSON with /api in front. The OpenAPI description is made from the rows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.responses import Response

from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.web.answers import ChangeAnswer, Page, PlannedChange
from kafka_py.manager.web.requests import PageRequest

Handler = Callable[[PageRequest], Awaitable[Page | PlannedChange | Response]]

CLUSTER = "/clusters/{cluster}"
"""The beginning of the path of every route that is about one cluster."""


class RouteParameter(NamedTuple):
    """A parameter of the query, or of the form of a change. kind: a type of JSON schema."""

    name: str
    about: str
    kind: str = "string"
    is_required: bool = False
    is_list: bool = False


class WebRoute(NamedTuple):
    """One row. summary: a sentence for the description. answer: the model's class; of a change ChangeAnswer.

    menu: the entry of the cluster's menu that this page is. under: the entry that is marked on this page.
    in_api: false for pages that make no sense as JSON. is_once: the first look changes something, so a HEAD is refused.
    is_for_programs: whoever asks logs in as for a call of the JSON interface, and gets no session. takes_scrape_token:
    the token of the setting metrics_token is enough.
    """

    method: str
    path: str
    role: AccessRole
    handler: Handler
    summary: str
    answer: type = ChangeAnswer
    parameters: tuple[RouteParameter, ...] = ()
    menu: str = ""
    under: str = ""
    in_api: bool = True
    is_once: bool = False
    is_for_programs: bool = False
    takes_scrape_token: bool = False

    @property
    def section(self) -> str:
        """The marked entry of the menu."""
        return self.menu or self.under


PAGING = (
    RouteParameter("page", "Which page of the list, from 1.", "integer"),
    RouteParameter("size", "How many items a page has.", "integer"),
)


def reads(path: str, handler: Handler, summary: str, answer: type, *parameters: RouteParameter,
          menu: str = "", under: str = "", in_api: bool = True) -> WebRoute:  # fmt: skip
    """A page that readers may see."""
    return WebRoute("GET", path, AccessRole.READER, handler, summary, answer, parameters, menu, under, in_api)


def changes(path: str, handler: Handler, summary: str, *parameters: RouteParameter, under: str = "",
            answer: type = ChangeAnswer) -> WebRoute:  # fmt: skip
    """A change, for administrators. Handlers return a PlannedChange, or a page to correct the form."""
    return WebRoute("POST", path, AccessRole.ADMINISTRATOR, handler, summary, answer, parameters, under=under)
