"""Forms that were shown a while ago: what they would do has changed, or they are sent again with other content."""

from collections.abc import Callable

import pytest

from kafka_py.manager.pages import login
from kafka_py.manager.web.answers import Effect, Failure, Page, PlannedChange
from kafka_py.manager.web.dispatch import CHANGED_SINCE
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import changes, reads
from kafka_py.testing.web_manager import CalledManager

THINGS: list[str] = []


async def show(_request: PageRequest) -> Page:
    return Page("failure.html", Failure("none", "Things are fine"), "Things")


async def drop(request: PageRequest) -> PlannedChange:
    """Drops all things, or those that are named."""
    dropped = [each for each in THINGS if each in (request.many("thing") or THINGS)]

    async def apply() -> str:
        for each in dropped:
            THINGS.remove(each)
        return f"{len(dropped)} were dropped."

    pins = {"thing": dropped} if request.flag("pinned") else {}
    basis = () if request.flag("pinned") else None
    return PlannedChange(
        "Drop", "drop", apply, "/things", [Effect(each, "there", "") for each in dropped], basis=basis, pins=pins
    )


async def make(request: PageRequest) -> PlannedChange:
    name = request.text("name")

    async def apply() -> str:
        THINGS.append(name)
        return f"{name} was made."

    return PlannedChange(f"Make {name}", "make", apply, "/things")


ROUTES = (*login.ROUTES, reads("/things", show, "Things.", Failure), changes("/drop", drop, "Drops things."),
          changes("/make", make, "Makes a thing."))  # fmt: skip


@pytest.fixture(autouse=True)
def two_things() -> None:
    THINGS[:] = ["a", "b"]


def fields_of(page: str) -> dict[str, list[str]]:
    """The hidden fields of the form that makes the change."""
    form = page.split('class="buttons"')[1]
    found: dict[str, list[str]] = {}
    for piece in form.split('<input type="hidden" name="')[1:]:
        name, _, rest = piece.partition('" value="')
        found.setdefault(name, []).append(rest.partition('"')[0])
    return found


def test_a_change_that_would_do_something_else_than_was_shown_is_shown_again(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        stale = fields_of((await manager.submit("/drop")).text)
        THINGS.append("c")
        again = await manager.client.post("/drop", data=stale)
        assert CHANGED_SINCE in again.text and len(THINGS) == 3
        fresh = fields_of(again.text)
        assert len(fresh["shown"]) == 1
        assert (await manager.client.post("/drop", data=fresh)).status_code == 303
        assert THINGS == []

    played(scene, routes=ROUTES, allow_changes=True)


def test_a_change_that_names_what_was_shown_leaves_the_rest_alone(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        stale = fields_of((await manager.submit("/drop", pinned="true")).text)
        assert stale["thing"] == ["a", "b"]
        THINGS.remove("a")
        THINGS.append("c")
        assert (await manager.client.post("/drop", data=stale)).status_code == 303
        assert THINGS == ["c"]

    played(scene, routes=ROUTES, allow_changes=True)


def test_a_form_that_is_sent_again_with_other_content_makes_another_change(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for name in ("x", "y", "x"):
            assert (await manager.submit("/make", name=name, step="apply", submission="1")).status_code == 303
        assert THINGS == ["a", "b", "x", "y"]

    played(scene, routes=ROUTES, allow_changes=True)


def test_a_number_is_that_of_one_form_in_one_session(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.submit("/make", name="a", step="apply", submission="1")
        await manager.submit("/drop", name="a", step="apply", submission="1")
        assert THINGS == []
        await manager.submit("/make", name="x", step="apply", submission="1")
        manager.client.cookies.clear()
        await manager.submit("/make", name="x", step="apply", submission="1")
        assert THINGS == ["x", "x"]

    played(scene, routes=ROUTES, allow_changes=True)


def test_a_notice_waits_for_a_page_that_has_room_for_it(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.submit("/make", name="x", step="apply", submission="1")
        await manager.get("/things", headers={"hx-request": "true"})
        assert "x was made." in (await manager.get("/things")).text
        for number in range(30):
            await manager.submit("/make", name=f"n{number}", step="apply", submission="1")
        assert (await manager.get("/things")).text.count(" was made.") == 20

    played(scene, routes=ROUTES, allow_changes=True)
