"""Delegation tokens: listed, created, renewed, ended (KIP-48).

The HMAC of a token, which is the password of its logins, is shown once: on the page after its creation.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.security.partial import or_problem
from kafka_py.manager.web.answers import Effect, Page, PageList, PlannedChange, ProblemRow
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, WebRoute, changes, reads
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import DelegationToken

HOUR_MS = 3_600_000
HMAC = "<hmac>"  # stands for the HMAC in commands
PART = "tokens"
MOST_UNSEEN = 100
"""Tokens that were created and whose HMAC was not looked at; the oldest are forgotten."""


class TokenRow(NamedTuple):
    """A token without its HMAC."""

    id: str
    owner: str
    renewers: list[str]
    issued_ms: int
    expires_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class TokensPage:
    """The tokens that the manager's own user may see."""

    tokens: list[TokenRow]
    part: PageList
    problems: list[ProblemRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TokenSecretPage:
    """A new token with its HMAC, in base64."""

    token: TokenRow
    hmac: str


def row_of(token: DelegationToken) -> TokenRow:
    """A token without its secret."""
    renewers = [str(each) for each in token.renewers]
    return TokenRow(token.token_id, str(token.owner), renewers, token.issued_ms, token.expires_ms, token.max_ms)


async def tokens(request: PageRequest) -> Page:
    """The list of tokens."""
    problems: list[ProblemRow] = []
    none: list[DelegationToken] = []
    found = await or_problem("the tokens", request.cluster.admin.describe_delegation_token(), none, problems)
    found = sorted(found, key=lambda token: (token.expires_ms, token.token_id))
    shown = request.page_list(len(found))
    model = TokensPage([row_of(each) for each in found[shown.start : shown.end]], shown, problems)
    return Page("security/tokens.html", model, "Delegation tokens")


async def create(request: PageRequest) -> PlannedChange:
    """Creates a token for the manager's own user."""
    renewers = principals_of(request.text("renewers", ""))
    hours = request.number("hours", 0, least=0, greatest=24 * 3650)
    lifetime_ms = hours * HOUR_MS or -1
    admin, cluster = request.cluster.admin, request.cluster.name
    path = f"/clusters/{part(cluster)}/tokens"
    number = f"{request.services.environment.chance.new_uuid()}"

    async def apply() -> str:
        made = await admin.create_delegation_token(renewers, max_lifetime_ms=lifetime_ms)
        kept: OrderedDict[str, DelegationToken] = request.services.parts.setdefault(PART, OrderedDict())
        kept[f"{cluster} {number}"] = made
        while len(kept) > MOST_UNSEEN:
            kept.popitem(last=False)
        return f"The token {made.token_id} was created: {path}/created?number={number} shows its HMAC once."

    words = ["--create", "--max-life-time-period", str(lifetime_ms)]
    for renewer in renewers:
        words += ["--renewer-principal", str(renewer)]
    lifetime = f"{hours} h at most" if hours else "as long as the broker permits"
    return PlannedChange(
        "Create a delegation token", command(request.cluster, "kafka-delegation-tokens.sh", *words), apply,
        f"{path}/created?number={number}",
        [Effect("lifetime", "", lifetime), *(Effect("renewer", "", str(each)) for each in renewers)],
    )  # fmt: skip


async def created(request: PageRequest) -> Page:
    """The HMAC of a token that was just created; a second look has none."""
    kept = request.services.parts.get(PART, {})
    token = kept.pop(f"{request.cluster.name} {request.text('number')}", None)
    if token is None:
        raise NotFound("The HMAC of a token is shown once, and this one was")
    return Page("security/token.html", TokenSecretPage(row_of(token), token.password), "New delegation token")


async def renew(request: PageRequest) -> PlannedChange:
    """Puts off the end of a token."""
    token = await _token(request)
    hours = request.number("hours", 0, least=0, greatest=24 * 3650)
    period_ms = hours * HOUR_MS or -1

    async def apply() -> str:
        await request.cluster.admin.renew_delegation_token(token.hmac, period_ms=period_ms)
        return f"The token {token.token_id} was renewed."

    words = ("--renew", "--renew-time-period", period_ms, "--hmac", HMAC)
    return PlannedChange(
        f"Renew the token {token.token_id}", command(request.cluster, "kafka-delegation-tokens.sh", *words), apply,
        f"/clusters/{part(request.cluster.name)}/tokens",
        [Effect("valid", "", f"{hours} h from now" if hours else "as long as the broker's setting says")],
    )  # fmt: skip


async def expire(request: PageRequest) -> PlannedChange:
    """Ends a token at once."""
    token = await _token(request)

    async def apply() -> str:
        await request.cluster.admin.expire_delegation_token(token.hmac)
        return f"The token {token.token_id} has ended."

    words = ("--expire", "--expiry-time-period", -1, "--hmac", HMAC)
    return PlannedChange(
        f"End the token {token.token_id}", command(request.cluster, "kafka-delegation-tokens.sh", *words), apply,
        f"/clusters/{part(request.cluster.name)}/tokens", [Effect("token", token.token_id, "")],
        ["Clients that log in with it are refused from now on."], is_dangerous=True,
    )  # fmt: skip


def principals_of(text: str) -> list[Principal]:
    """Principals with commas between them. Raises BadParameter."""
    try:
        return [Principal.parse(each.strip()) for each in text.split(",") if each.strip()]
    except ValueError as error:
        raise BadParameter(f"renewers: {error}") from None


async def _token(request: PageRequest) -> DelegationToken:
    wanted = request.text("id")
    for token in await request.cluster.admin.describe_delegation_token():
        if token.token_id == wanted:
            return token
    raise NotFound(f"There is no token {wanted}")


_ID = RouteParameter("id", "The id of the token.", is_required=True)

ROUTES = (
    reads(f"{CLUSTER}/tokens", tokens, "The delegation tokens.", TokensPage, *PAGING, menu="Tokens"),
    WebRoute(
        "GET", f"{CLUSTER}/tokens/created", AccessRole.ADMINISTRATOR, created, "The HMAC of a new token, once.",
        TokenSecretPage, (RouteParameter("number", "As the change said.", is_required=True),), under="Tokens",
        is_once=True,
    ),
    changes(
        f"{CLUSTER}/tokens/create", create, "Creates a delegation token.",
        RouteParameter("renewers", "As User:alice, with commas between them."),
        RouteParameter("hours", "How long it can be renewed; empty: as long as the broker permits.", "integer"),
        under="Tokens",
    ),
    changes(
        f"{CLUSTER}/tokens/renew", renew, "Renews a delegation token.", _ID,
        RouteParameter("hours", "From now; empty: the broker's setting.", "integer"), under="Tokens",
    ),
    changes(f"{CLUSTER}/tokens/expire", expire, "Ends a delegation token.", _ID, under="Tokens"),
)  # fmt: skip
