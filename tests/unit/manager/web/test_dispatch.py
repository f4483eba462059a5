"""Logins, roles, CSRF tokens, dry runs, forms that are sent twice, and the audit log, through the whole application."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile, new_user
from kafka_py.manager.pages import login
from kafka_py.manager.settings import ClusterSettings
from kafka_py.manager.web.admission import is_still_admitted
from kafka_py.manager.web.answers import Effect, Failure, Page, PlannedChange
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import CLUSTER, changes, reads
from kafka_py.manager.web.streaming import StreamedAnswer
from kafka_py.testing.clock import ManualClock
from kafka_py.testing.web_manager import CalledManager

PASSWORD = "a long password"
APPLIED: list[str] = []


async def show(_request: PageRequest) -> Page:
    return Page("failure.html", Failure("none", "Things are fine"), "Things")


async def change(request: PageRequest) -> PlannedChange:
    name = request.text("name")

    async def apply() -> str:
        if name == "bad":
            raise ValueError("it cannot be")
        APPLIED.append(name)
        return f"{name} was made."

    return PlannedChange(f"Make {name}", f"make --name '{name}'", apply, "/things", [Effect(name, "", "made")])


ROUTES = (*login.ROUTES, reads("/things", show, "Things.", Failure), changes("/things", change, "Makes a thing."))


@pytest.fixture(autouse=True)
def nothing_applied() -> None:
    APPLIED.clear()


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "users"
    file = UsersFile(path)
    file.add(new_user("ann", AccessRole.ADMINISTRATOR, PASSWORD, Chance(1)))
    file.add(new_user("ray", AccessRole.READER, PASSWORD, Chance(2)))
    assert path.stat().st_mode & 0o77 == 0
    return path


def test_a_change_is_shown_first_and_made_when_it_is_sent_again(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        shown = await manager.submit("/things", name="<b>x</b>")
        assert (shown.status_code, APPLIED) == (200, [])
        assert "make --name &#39;&lt;b&gt;x&lt;/b&gt;&#39;" in shown.text
        made = await manager.submit("/things", name="x", step="apply", submission="1")
        assert (made.status_code, made.headers["location"], APPLIED) == (303, "/things", ["x"])
        assert "x was made." in (await manager.get("/things")).text
        assert "x was made." not in (await manager.get("/things")).text

    played(scene, routes=ROUTES, allow_changes=True)


def test_whoever_asks_for_headers_alone_uses_nothing_up(played: Callable[..., None]) -> None:
    looks: list[str] = []

    async def once(_request: PageRequest) -> Page:
        looks.append("look")
        return Page("failure.html", Failure("none", "A secret"), "Once")

    route = reads("/once", once, "A secret, once.", Failure)._replace(is_once=True)

    async def scene(manager: CalledManager) -> None:
        for path in ("/once", "/api/once"):
            refused = await manager.client.head(path)
            assert (refused.status_code, refused.headers["allow"], looks) == (405, "GET", [])
        assert "A secret" in (await manager.get("/once")).text
        await manager.submit("/things", name="x", step="apply")
        assert (await manager.client.head("/things")).status_code == 200
        assert "x was made." in (await manager.get("/things")).text

    played(scene, routes=(*ROUTES, route), allow_changes=True)


def test_a_form_that_is_sent_twice_makes_its_change_once(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for _ in range(2):
            made = await manager.submit("/things", name="x", step="apply", submission="same")
            assert made.status_code == 303
        assert APPLIED == ["x"]
        await manager.submit("/things", name="x", step="apply", submission="other")
        assert APPLIED == ["x", "x"]

    played(scene, routes=ROUTES, allow_changes=True)


def test_a_form_without_the_sessions_token_changes_nothing(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.get("/things")
        for fields in ({}, {"csrf_token": "0" * 64}):
            refused = await manager.client.post("/things", data={"name": "x", "step": "apply", **fields})
            assert refused.status_code == 403
        cross = await manager.client.post(
            "/things", data={"name": "x", "step": "apply", "csrf_token": await manager.token()},
            headers={"sec-fetch-site": "cross-site"},
        )  # fmt: skip
        assert (cross.status_code, APPLIED) == (403, [])
        form = await manager.client.post("/api/things", data={"name": "x"})
        assert (form.status_code, APPLIED) == (403, [])

    played(scene, routes=ROUTES, allow_changes=True)


def test_json_makes_a_change_at_once_unless_it_is_a_dry_run(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        dry = (await manager.call("/things", name="x", dry_run=True)).json()
        assert (dry["is_done"], dry["command_line"], APPLIED) == (False, "make --name 'x'", [])
        assert dry["effects"] == [{"what": "x", "before": "", "after": "made"}]
        done = (await manager.call("/things", name="x")).json()
        assert (done["is_done"], done["message"], APPLIED) == (True, "x was made.", ["x"])
        assert (await manager.call("/things")).json()["message"] == "The parameter name is missing"

    played(scene, routes=ROUTES, allow_changes=True)


@pytest.mark.parametrize("options", [{}, {"allow_changes": True, "is_read_only": True}])
def test_a_manager_that_only_reads_refuses_changes(options: dict[str, bool], played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        refused = await manager.submit("/things", name="x", step="apply")
        assert (refused.status_code, APPLIED) == (403, [])

    played(scene, routes=ROUTES, **options)


@pytest.mark.parametrize("path", ["", "/api"])
def test_a_cluster_that_is_read_only_is_not_changed(path: str, played: Callable[..., None]) -> None:
    routes = (*login.ROUTES, changes(f"{CLUSTER}/things", change, "Makes a thing."))
    clusters = tuple(ClusterSettings(name, "localhost:1", is_read_only=name == "test") for name in ("test", "free"))

    async def scene(manager: CalledManager) -> None:
        send = manager.call if path else manager.submit
        for name, status in (("test", 403), ("free", 200 if path else 303)):
            assert (await send(f"/clusters/{name}/things", name=name, step="apply")).status_code == status
        assert APPLIED == ["free"]

    played(scene, routes=routes, clusters=clusters, allow_changes=True)


def test_what_another_site_embeds_is_not_answered(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for site, mode, dest, status in (
            ("cross-site", "no-cors", "image", 403), ("cross-site", "navigate", "iframe", 403),
            ("cross-site", "navigate", "document", 200), ("same-origin", "cors", "empty", 200),
            ("none", "navigate", "document", 200),
        ):  # fmt: skip
            headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
            answer = await manager.get("/things", headers=headers)
            assert answer.status_code == status, headers

    played(scene, routes=ROUTES)


@pytest.mark.parametrize(
    ("proxies", "addresses"),
    [
        ((), ["127.0.0.1"]),  # the sender of the header is nobody whom the settings name
        (("10.0.0.0/8",), ["127.0.0.1"]),
        (("127.0.0.1", "10.0.0.0/8"), ["198.51.100.1", "198.51.100.2"]),
    ],
)
def test_behind_a_proxy_each_browser_has_failed_logins_of_its_own(
    proxies: tuple[str, ...], addresses: list[str], played: Callable[..., None], users: Path, tmp_path: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        statuses = []
        for browser in ("198.51.100.1", "198.51.100.2"):
            # A browser may write the beginning of the header itself; the proxies append what they see.
            headers = {"x-forwarded-for": f"192.0.2.9, {browser}, 10.1.2.3"}
            for number in range(4):
                form = {"name": f"{browser} {number}", "password": "wrong"}
                statuses.append((await manager.client.post("/login", data=form, headers=headers)).status_code)
        assert statuses == [401, 401, 401, 429] * 2 if len(addresses) == 2 else [401, 401, 401, *[429] * 5]

    played(scene, routes=ROUTES, users=users, trusted_proxies=proxies)
    entries = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert list(dict.fromkeys(each["address"] for each in entries)) == addresses


@pytest.mark.parametrize(("proxies", "is_secure"), [(("127.0.0.1",), True), ((), False), (("10.0.0.0/8",), False)])
def test_a_session_behind_a_proxy_with_tls_is_never_sent_without(
    proxies: tuple[str, ...], is_secure: bool, played: Callable[..., None], users: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        form, headers = {"name": "ann", "password": PASSWORD}, {"x-forwarded-proto": "https"}
        done = await manager.client.post("/login", data=form, headers=headers)
        assert (done.status_code, "Secure" in done.headers["set-cookie"]) == (303, is_secure)

    played(scene, routes=ROUTES, users=users, trusted_proxies=proxies)


def test_whoever_is_not_logged_in_is_sent_to_the_form_and_back(played: Callable[..., None], users: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        away = await manager.get("/things?page=2")
        assert (away.status_code, away.headers["location"]) == (303, "/login?next=%2Fthings%3Fpage%3D2")
        assert (await manager.get("/api/things")).status_code == 401
        fragment = await manager.get("/things", headers={"hx-request": "true"})
        assert (fragment.status_code, fragment.headers["hx-redirect"]) == (401, "/login?next=%2Fthings")
        wrong = await manager.log_in("ann", "wrong")
        assert (wrong.status_code, "is wrong" in wrong.text) == (401, True)
        in_ = await manager.client.post("/login", data={"name": "ann", "password": PASSWORD, "next": "//evil.example/"})
        assert (in_.status_code, in_.headers["location"]) == (303, "/")
        cookie = in_.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=lax" in cookie
        assert (await manager.get("/things")).status_code == 200
        assert (await manager.submit("/things", name="x", step="apply")).status_code == 303
        await manager.submit("/logout")
        assert (await manager.get("/things")).status_code == 303

    played(scene, routes=ROUTES, users=users)


def test_a_session_that_has_ended_changes_nothing_and_says_so(
    played: Callable[..., None], users: Path, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.log_in("ann", PASSWORD)
        token = await manager.token()
        manager_clock.advance(61 * 60_000)
        form = {"csrf_token": token, "name": "x", "step": "apply"}
        away = await manager.client.post("/things", data=form)
        assert (away.status_code, APPLIED) == (303, [])
        assert "was not carried out" in (await manager.get(away.headers["location"])).text

    played(scene, routes=ROUTES, users=users)


def test_a_reader_may_look_but_not_change(played: Callable[..., None], users: Path, tmp_path: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.log_in("ray", PASSWORD)
        assert (await manager.get("/things")).status_code == 200
        assert (await manager.submit("/things", name="x", step="apply")).status_code == 403
        assert (await manager.call("/things", name="x")).status_code == 403
        assert APPLIED == []

    played(scene, routes=ROUTES, users=users)
    entries = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(each["user"], each["action"], each["outcome"]) for each in entries] == [
        ("ray", "login", "done"), ("ray", "POST /things", "refused"), ("ray", "POST /things", "refused")
    ]  # fmt: skip


def test_name_and_password_do_for_the_json_interface(played: Callable[..., None], users: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        done = await manager.client.post("/api/things", json={"name": "x"}, auth=("ann", PASSWORD))
        assert (done.status_code, APPLIED) == (200, ["x"])
        assert (await manager.client.get("/api/things", auth=("ann", "wrong"))).status_code == 401
        assert (await manager.client.get("/things", auth=("ann", PASSWORD))).status_code == 303

    played(scene, routes=ROUTES, users=users)


def test_failed_logins_make_the_next_one_wait(
    played: Callable[..., None], users: Path, manager_clock: ManualClock
) -> None:
    async def scene(manager: CalledManager) -> None:
        for _ in range(3):
            assert (await manager.log_in("ann", "wrong")).status_code == 401
        assert (await manager.log_in("ann", PASSWORD)).status_code == 429
        manager_clock.advance(1_000)
        assert (await manager.log_in("ann", PASSWORD)).status_code == 303
        await manager.submit("/logout")
        assert [(await manager.log_in("ann", "wrong")).status_code for _ in range(4)] == [401, 401, 401, 429]

    played(scene, routes=ROUTES, users=users)


def test_attempts_that_wait_for_their_turn_are_refused_once_others_have_failed(
    played: Callable[..., None], users: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        answers = await asyncio.gather(*(manager.log_in("ann", f"guess {number}") for number in range(12)))
        assert sorted(each.status_code for each in answers).count(401) <= 4  # three are free, and two run at a time

    played(scene, routes=ROUTES, users=users)


def test_the_login_form_says_what_is_wrong_with_it_also_after_a_session_has_ended(
    played: Callable[..., None], users: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        manager.client.cookies.set("kafka_manager", "of a session that has ended")
        strange = await manager.client.post("/login", content=b"x", headers={"content-type": "text/plain"})
        assert (strange.status_code, "A form is sent as" in strange.text) == (400, True)
        long = await manager.client.post("/login", data={"name": "x" * 70_000})
        assert (long.status_code, "longer than" in long.text) == (400, True)
        assert (await manager.log_in("ann", PASSWORD)).status_code == 303

    played(scene, routes=ROUTES, users=users)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://localhost"}, 303),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:81"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://kafka.example", "sec-fetch-site": "same-origin"}, 303),
        ({"origin": "http://localhost", "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_another_site_logs_nobody_in(
    headers: dict[str, str], status: int, played: Callable[..., None], users: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        form = {"name": "ann", "password": PASSWORD}
        assert (await manager.client.post("/login", data=form, headers=headers)).status_code == status

    played(scene, routes=ROUTES, users=users)


def test_a_login_ends_the_session_before_it(played: Callable[..., None], users: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.log_in("ray", PASSWORD)
        before = manager.client.cookies["kafka_manager"]
        form = {"name": "ann", "password": PASSWORD, "csrf_token": await manager.token()}
        assert (await manager.client.post("/login", data=form)).status_code == 303
        assert manager.client.cookies["kafka_manager"] != before
        assert not manager.services.sessions.is_open(before)

    played(scene, routes=ROUTES, users=users)


@pytest.mark.parametrize(("wanted", "path"), [
    ("/things?page=2", "/things?page=2"), ("", "/"), ("things", "/"), ("//evil.example", "/"), ("/\\evil.example", "/"),
    ("/\t/evil.example", "/"), ("https://evil.example/", "/"), ("/login?next=/", "/"), (f"/{'x' * 2_000}", "/"),
])  # fmt: skip
def test_a_login_leads_to_a_page_of_this_site(wanted: str, path: str) -> None:
    assert login.local_path(wanted) == path


def test_a_new_password_ends_the_sessions_of_the_old_one(
    played: Callable[..., None], users: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own users"
    own.write_bytes(users.read_bytes())

    async def scene(manager: CalledManager) -> None:
        await manager.log_in("ann", PASSWORD)
        assert (await manager.get("/things")).status_code == 200
        UsersFile(own).add(new_user("ann", AccessRole.ADMINISTRATOR, "quite another one", Chance(3)))
        assert (await manager.get("/things")).status_code == 303

    played(scene, routes=ROUTES, users=own)


def test_a_stream_goes_on_as_long_as_its_user_may_see_it(
    played: Callable[..., None], users: Path, tmp_path: Path, manager_clock: ManualClock
) -> None:
    own = tmp_path / "own users"
    own.write_bytes(users.read_bytes())

    async def scene(manager: CalledManager) -> None:
        await manager.log_in("ann", PASSWORD)
        await manager.get("/things")
        services, key = manager.services, manager.client.cookies["kafka_manager"]
        session = services.sessions.find(key)
        assert session is not None and is_still_admitted(services, session, AccessRole.ADMINISTRATOR)
        own.write_text(own.read_text().replace("ann:administrator", "ann:reader"))
        assert is_still_admitted(services, session, AccessRole.READER)
        assert not is_still_admitted(services, session, AccessRole.ADMINISTRATOR)
        manager_clock.advance(61 * 60_000)
        assert not is_still_admitted(services, session, AccessRole.READER)

    played(scene, routes=ROUTES, users=own)


def test_a_stream_ends_after_the_logout(played: Callable[..., None], users: Path) -> None:
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def parts() -> AsyncIterator[bytes]:
        has_begun.set()
        yield b"one "
        await may_end.wait()
        yield b"two"

    async def release() -> None: ...

    async def stream(_request: PageRequest) -> StreamedAnswer:
        return StreamedAnswer(parts(), release, media_type="text/plain")

    async def scene(manager: CalledManager) -> None:
        await manager.log_in("ann", PASSWORD)
        streamed = asyncio.create_task(manager.get("/stream"))
        await has_begun.wait()
        await manager.submit("/logout")
        may_end.set()
        with pytest.raises(AssertionError):  # the client of tests wants an answer that is whole
            await streamed

    played(scene, routes=(*ROUTES, reads("/stream", stream, "A stream.", Failure)), users=users)


def test_a_change_that_is_cut_off_is_in_the_audit_log(played: Callable[..., None], tmp_path: Path) -> None:
    async def hang(_request: PageRequest) -> PlannedChange:
        async def apply() -> str:
            raise asyncio.CancelledError

        return PlannedChange("Hang", "hang", apply, "/things")

    async def scene(manager: CalledManager) -> None:
        with pytest.raises(asyncio.CancelledError):
            await manager.submit("/hang", step="apply", submission="1")

    played(scene, routes=(*ROUTES, changes("/hang", hang, "Hangs.")), allow_changes=True)
    [entry] = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert (entry["outcome"], entry["detail"]) == ("failed", "CancelledError")


def test_a_page_that_is_missing_leads_to_no_other_site(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        missing = await manager.client.get("http://localhost//evil.example/x")
        assert missing.status_code == 404
        assert 'href="/evil.example/x"' in missing.text and 'href="//' not in missing.text

    played(scene, routes=ROUTES)


def test_what_was_done_and_what_failed_is_in_the_audit_log(played: Callable[..., None], tmp_path: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        await manager.submit("/things", name="looked at only")
        await manager.submit("/things", name="good", step="apply", submission="1")
        assert (await manager.submit("/things", name="bad", step="apply", submission="2")).status_code == 500

    played(scene, routes=ROUTES, allow_changes=True)
    entries = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(each["outcome"], each["command_line"], each["detail"]) for each in entries] == [
        ("done", "make --name 'good'", "good was made."), ("failed", "make --name 'bad'", "it cannot be")
    ]  # fmt: skip
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o77 == 0
