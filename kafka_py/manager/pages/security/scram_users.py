"""Users with SCRAM credentials: listed, created, changed, deleted (KIP-554)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_py.base.errors import KafkaError
from kafka_py.clients.admin.credentials import ScramIterations, ScramPassword
from kafka_py.clients.admin.results import Results
from kafka_py.manager.pages.commands import command
from kafka_py.manager.pages.security.partial import or_problem
from kafka_py.manager.web.answers import Effect, Page, PageList, PlannedChange, ProblemRow
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import BadParameter, PageRequest
from kafka_py.manager.web.routes import CLUSTER, PAGING, RouteParameter, changes, reads
from kafka_py.security.sasl.scram_credentials import LEAST_ITERATIONS, MECHANISM_IDS, MOST_ITERATIONS

MECHANISMS = list(MECHANISM_IDS)
PASSWORD = "<password>"  # stands for the password in commands


class ScramUserRow(NamedTuple):
    """A user with the mechanisms by which it can log in."""

    name: str
    credentials: list[ScramIterations]


@dataclass(frozen=True, slots=True)
class ScramUsersPage:
    """Users of the part that is shown."""

    users: list[ScramUserRow]
    search: str
    part: PageList
    mechanisms: list[str]
    least_iterations: int = LEAST_ITERATIONS
    most_iterations: int = MOST_ITERATIONS
    problems: list[ProblemRow] = field(default_factory=list)


async def users(request: PageRequest) -> Page:
    """The list of users."""
    problems: list[ProblemRow] = []
    nobody: Results[str, list[ScramIterations]] = Results()
    asked = request.cluster.admin.describe_user_scram_credentials()
    found = await or_problem("the users", asked, nobody, problems)
    problems += [ProblemRow(name, error.message) for name, error in found.errors().items()]
    search = request.text("search", "")
    names = sorted(name for name, each in found.items() if search in name and not isinstance(each, KafkaError))
    shown = request.page_list(len(names))
    rows = [ScramUserRow(name, found.value(name)) for name in names[shown.start : shown.end]]
    return Page("security/users.html", ScramUsersPage(rows, search, shown, MECHANISMS, problems=problems), "Users")


async def put(request: PageRequest) -> PlannedChange:
    """Sets the password of a user, who is created if there is none of that name."""
    name, mechanism = request.text("name"), request.choice("mechanism", MECHANISMS, MECHANISMS[0])
    iterations = request.number("iterations", LEAST_ITERATIONS, least=LEAST_ITERATIONS, greatest=MOST_ITERATIONS)
    password = "".join(request.form.get("password", ()))
    if not name or not password:
        raise BadParameter("A user has a name and a password")
    admin = request.cluster.admin

    async def apply() -> str:
        wanted = {name: {mechanism: ScramPassword(password, iterations)}}
        (await admin.alter_user_scram_credentials(wanted)).all()
        return f"The password of {name} for {mechanism} was set."

    setting = f"{mechanism}=[iterations={iterations},password={PASSWORD}]"
    return PlannedChange(
        f"Set the password of {name} for {mechanism}", _command(request, name, "--add-config", setting), apply,
        _back(request), [Effect(mechanism, "", f"{iterations} iterations")],
    )  # fmt: skip


async def delete(request: PageRequest) -> PlannedChange:
    """Deletes the credential of a user for one mechanism."""
    name, mechanism = request.exact("name"), request.choice("mechanism", MECHANISMS)
    admin = request.cluster.admin

    async def apply() -> str:
        (await admin.alter_user_scram_credentials({name: {mechanism: None}})).all()
        return f"{name} can no longer log in with {mechanism}."

    return PlannedChange(
        f"Delete the credential of {name} for {mechanism}", _command(request, name, "--delete-config", mechanism),
        apply, _back(request), [Effect(mechanism, "set", "")],
        ["Clients of this user are refused at their next login."], is_dangerous=True,
    )  # fmt: skip


def _command(request: PageRequest, name: str, option: str, setting: str) -> str:
    words = ("--alter", option, setting, "--entity-type", "users", "--entity-name", name)
    return command(request.cluster, "kafka-configs.sh", *words)


def _back(request: PageRequest) -> str:
    return f"/clusters/{part(request.cluster.name)}/users"


_NAME = RouteParameter("name", "The user.", is_required=True)
_MECHANISM = RouteParameter("mechanism", f"One of {', '.join(MECHANISMS)}.")

ROUTES = (
    reads(
        f"{CLUSTER}/users", users, "The users with SCRAM credentials.", ScramUsersPage,
        RouteParameter("search", "Part of the name."), *PAGING, menu="Users",
    ),
    changes(
        f"{CLUSTER}/users/put", put, "Sets the password of a user.", _NAME, _MECHANISM,
        RouteParameter("password", "The new one.", is_required=True),
        RouteParameter("iterations", f"{LEAST_ITERATIONS} to {MOST_ITERATIONS}.", "integer"), under="Users",
    ),
    changes(f"{CLUSTER}/users/delete", delete, "Deletes a credential of a user.", _NAME, _MECHANISM, under="Users"),
)  # fmt: skip
