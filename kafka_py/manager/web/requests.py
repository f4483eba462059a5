"""What a handler is given: the parameters of the request, the user, the cluster and the manager's parts.

A parameter is looked up in the form, then in the query; JSON bodies have become forms before. Bad values raise
BadParameter, which becomes a page with status 400.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.identity.roles import AccessRole, WebUser
from kafka_py.manager.identity.sessions import BrowserSession
from kafka_py.manager.services import ManagerServices
from kafka_py.manager.web.answers import PageList

Fields = Mapping[str, Sequence[str]]


class BadParameter(ValueError):
    """A parameter of the request is missing or cannot be what it is; the text names it."""


class NotFound(LookupError):
    """There is no such page, cluster, topic ...; the text says which one."""


class Forbidden(PermissionError):
    """The user may not do that; the text says why."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """services: settings, clusters, clock and so on. form: empty for GET. session: None for a call of the API.

    role: what the user may do here and now: less than the user's role where the manager or the cluster is read-only.
    is_fragment: notices have no place in the answer: a script asks for a part of a page that is open already, or it is
    a HEAD. is_https: whether the browser came by https, to the manager or to a proxy that it trusts.
    """

    services: ManagerServices
    path: Mapping[str, str]
    query: Fields
    form: Fields
    user: WebUser
    role: AccessRole
    address: str
    session: BrowserSession | None = None
    selected: ManagedCluster | None = None
    is_api: bool = False
    url_path: str = "/"
    is_fragment: bool = False
    cookies: Mapping[str, str] = field(default_factory=dict)
    is_https: bool = False

    @property
    def cluster(self) -> ManagedCluster:
        """The cluster in the path. Raises NotFound for a route without one."""
        if self.selected is None:
            raise NotFound("No cluster is named")
        return self.selected

    @property
    def query_text(self) -> str:
        """The query, to ask for the same page again."""
        return urlencode([(name, value) for name, values in self.query.items() for value in values])

    @property
    def may_change(self) -> bool:
        return self.role >= AccessRole.ADMINISTRATOR

    def many(self, name: str) -> list[str]:
        """All values of a parameter."""
        return list(self.form.get(name) or self.query.get(name) or ())

    def text(self, name: str, default: str | None = None) -> str:
        """The value of a parameter without blanks around it. Raises BadParameter where it has none and no default."""
        values = self.many(name)
        if values:
            return values[-1].strip()
        if default is None:
            raise BadParameter(f"The parameter {name} is missing")
        return default

    def exact(self, name: str, default: str | None = None) -> str:
        """The value with the blanks at its ends, which names of users or clients may have. Raises BadParameter."""
        text = self.text(name, default)
        values = self.many(name)
        return values[-1] if values else text

    def number(self, name: str, default: int | None = None, *, least: int = 0, greatest: int = (1 << 63) - 1) -> int:
        """The value as an integer; an empty text is the default. Raises BadParameter."""
        text = self.text(name, "" if default is not None else None)
        if not text and default is not None:
            return default
        try:
            value = int(text)
        except ValueError:
            raise BadParameter(f"{name} is a number, not {text[:100]!r}") from None
        if not least <= value <= greatest:
            raise BadParameter(f"{name} is between {least} and {greatest}, not {value}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """The value as yes or no: `true`, `on`, `yes` and `1` are yes."""
        values = self.many(name)
        return values[-1].lower() in ("true", "on", "yes", "1") if values else default

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of some texts. Raises BadParameter."""
        value = self.text(name, default) or (default or "")
        if value not in choices:
            raise BadParameter(f"{name} is one of {', '.join(choices)}, not {value[:100]!r}")
        return value

    def page_list(self, total: int, *, size: int = 50) -> PageList:
        """The part of a list of `total` items that the parameters page and size ask for."""
        return PageList(self.number("page", 1, least=1), self.number("size", size, least=1, greatest=1_000), total)
