"""Quotas of users, clients and addresses, and of the defaults (KIP-546, KIP-612)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.clients.admin.quotas import ClientQuotaEntity
from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.security.partial import or_problem
from kafka_py.manager.web.answers import Effect, Page, PageList, PlannedChange, ProblemRow
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, changes, reads

DEFAULT = "<default>"
"""Stands for the default entity of a type on the page."""


class LimitRow(NamedTuple):
    """What can be limited. of: the types of entities that may have it."""

    key: str
    unit: str
    of: str


LIMITS = (
    LimitRow("producer_byte_rate", "bytes/s", "users and clients"),
    LimitRow("consumer_byte_rate", "bytes/s", "users and clients"),
    LimitRow("request_percentage", "% of a request thread", "users and clients"),
    LimitRow("controller_mutation_rate", "partitions/s created or deleted", "users and clients"),
    LimitRow("connection_creation_rate", "connections/s", "addresses"),
)
_UNITS = {each.key: each.unit for each in LIMITS}
_ENTITY_TYPES = {"user": "users", "client-id": "clients", "ip": "ips"}
"""The type of an entity in the protocol, and for kafka-configs.sh."""


class QuotaRow(NamedTuple):
    """One limit of one entity. user, client_id, ip: its name, DEFAULT for the default, empty for any."""

    user: str
    client_id: str
    ip: str
    key: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class QuotasPage:
    """The limits of the part that is shown."""

    quotas: list[QuotaRow]
    search: str
    part: PageList
    limits: list[LimitRow]
    problems: list[ProblemRow] = field(default_factory=list)


def rows_of(found: Mapping[ClientQuotaEntity, Mapping[str, float]]) -> list[QuotaRow]:
    """One row per limit, by entity."""
    rows = []
    for entity, values in found.items():
        names = {kind: DEFAULT if name is None else name for kind, name in entity}
        user, client_id, ip = (names.get(kind, "") for kind in _ENTITY_TYPES)
        rows += [QuotaRow(user, client_id, ip, key, value, _UNITS.get(key, "")) for key, value in values.items()]
    return sorted(rows)


async def quotas(request: PageRequest) -> Page:
    """The list of limits."""
    problems: list[ProblemRow] = []
    none: dict[ClientQuotaEntity, dict[str, float]] = {}
    found = await or_problem("the quotas", request.cluster.admin.describe_client_quotas(), none, problems)
    search = request.text("search", "")
    rows = [row for row in rows_of(found) if any(search in name for name in (row.user, row.client_id, row.ip))]
    shown = request.page_list(len(rows))
    model = QuotasPage(rows[shown.start : shown.end], search, shown, list(LIMITS), problems)
    return Page("security/quotas.html", model, "Quotas")


async def put(request: PageRequest) -> PlannedChange:
    """Sets a limit."""
    entity, key = _entity(request, request.text), request.choice("key", list(_UNITS))
    try:
        value = float(request.text("value"))
    except ValueError:
        raise BadParameter("value is a number") from None
    if not 0 < value < 1e18:
        raise BadParameter("value is greater than 0")
    return await _planned(request, entity, key, value)


async def delete(request: PageRequest) -> PlannedChange:
    """Removes a limit."""
    return await _planned(request, _entity(request, request.exact), request.choice("key", list(_UNITS)), None)


async def _planned(
    request: PageRequest, entity: ClientQuotaEntity, key: str, value: float | None
) -> PlannedChange:
    admin = request.cluster.admin
    found = await admin.describe_client_quotas(dict(entity), strict=True)
    before = {frozenset(each): values for each, values in found.items()}.get(frozenset(entity), {}).get(key)
    title = title_of(entity)

    async def apply() -> str:
        (await admin.alter_client_quotas({entity: {key: value}})).all()
        done = "was removed" if value is None else f"is {limit_text(value)} now"
        return f"{key} of {title} {done}."

    effects = [Effect(key, *("" if each is None else limit_text(each) for each in (before, value)))]
    summary = f"Remove {key} of {title}" if value is None else f"Limit {key} of {title} to {limit_text(value)}"
    back = f"/clusters/{part(request.cluster.name)}/quotas"
    words = quota_words(entity, key, value)
    return PlannedChange(summary, command(request.cluster, "kafka-configs.sh", *words), apply, back, effects)


def quota_words(entity: ClientQuotaEntity, key: str, value: float | None) -> list[str]:
    """The words of kafka-configs.sh."""
    change = ["--delete-config", key] if value is None else ["--add-config", f"{key}={limit_text(value)}"]
    words = ["--alter", *change]
    for kind, name in entity:
        words += ["--entity-type", _ENTITY_TYPES[kind]]
        words += ["--entity-default"] if name is None else ["--entity-name", name]
    return words


def limit_text(value: float) -> str:
    """All digits of a limit, as the tools take it."""
    return str(int(value)) if value.is_integer() else repr(value)


def title_of(entity: ClientQuotaEntity) -> str:
    """As `user alice, the default client-id`."""
    return ", ".join(f"the default {kind}" if name is None else f"{kind} {name}" for kind, name in entity)


def _entity(request: PageRequest, value: Callable[[str, str], str]) -> ClientQuotaEntity:
    """Whose limit it is. value: of a parameter of the request, with the blanks at its ends or without."""
    found: list[tuple[str, str | None]] = []
    for kind in _ENTITY_TYPES:
        name = value(kind.replace("-", "_"), "")
        if request.flag(f"{kind.replace('-', '_')}_default") or name == DEFAULT:
            found.append((kind, None))
        elif name:
            found.append((kind, name))
    kinds = {kind for kind, _ in found}
    if not kinds or ("ip" in kinds and len(kinds) > 1):
        raise BadParameter("A quota belongs to a user, a client id or both, or to an address")
    return tuple(found)


_WHOSE = (
    RouteParameter("user", f"{DEFAULT} for the default."),
    RouteParameter("client_id", f"{DEFAULT} for the default."),
    RouteParameter("ip", f"An address; {DEFAULT} for the default."),
    RouteParameter("key", f"One of {', '.join(_UNITS)}.", is_required=True),
)

ROUTES = (
    reads(
        f"{CLUSTER}/quotas", quotas, "The quotas of users, clients and addresses.", QuotasPage,
        RouteParameter("search", "Part of a name."), *PAGING, menu="Quotas",
    ),
    changes(
        f"{CLUSTER}/quotas/put", put, "Sets a quota.", *_WHOSE,
        RouteParameter("value", "The limit.", "number", is_required=True), under="Quotas",
    ),
    changes(f"{CLUSTER}/quotas/delete", delete, "Removes a quota.", *_WHOSE, under="Quotas"),
)  # fmt: skip
