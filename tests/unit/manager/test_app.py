"""The manager as a whole, without a socket: pages, JSON, headers, menus, and a cluster that is down."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafka_py.base.chance import Chance
from kafka_py.clients.admin.brokers import ClusterDescription
from kafka_py.clients.metadata import Node
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.users import UsersFile, new_user
from kafka_py.manager.pages import login, overview
from kafka_py.manager.pages.table import ROUTES
from kafka_py.manager.web.answers import Page
from kafka_py.manager.web.requests import PageRequest
from kafka_py.manager.web.routes import CLUSTER, reads
from kafka_py.testing.web_manager import CalledManager

SCRIPT = "<script>alert(1)</script>"


class Admin(SimpleNamespace):
    """What the first pages ask; a rack may be any text."""

    async def describe_cluster(self, **_: Any) -> ClusterDescription:
        node = Node(1, "localhost", 9092, SCRIPT)
        return ClusterDescription("id", node, [node])

    async def list_topics(self, **_: Any) -> dict[str, object]:
        return {"t": None}

    async def close(self) -> None: ...


async def racks(request: PageRequest) -> Page:
    """A page whose rows are what a cluster says of itself."""
    found = await request.cluster.admin.describe_cluster()
    rows = [overview.ClusterRow(node.rack or "", str(node), "", False, False) for node in found.nodes]
    return Page("overview.html", overview.ClustersPage(rows), "Racks")


OWN = (*login.ROUTES, *overview.ROUTES, reads(f"{CLUSTER}/racks", racks, "Racks.", overview.ClustersPage, menu="Racks"))


def test_a_page_is_html_and_the_same_model_is_json(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        page = await manager.get("/clusters/test/racks")
        assert page.status_code == 200
        assert "localhost:9092" in page.text
        found = (await manager.get("/api/clusters/test/racks")).json()
        assert found["clusters"][0]["name"] == SCRIPT
        first = (await manager.get("/api")).json()
        assert [(row["name"], row["brokers"], row["topics"]) for row in first["clusters"]] == [("test", 1, 1)]

    played(scene, admin=Admin(), routes=OWN)


def test_script_in_a_name_is_text(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        page = await manager.get("/clusters/test/racks")
        assert SCRIPT not in page.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
        for path in (f"/{SCRIPT}", f"/clusters/{SCRIPT}/racks"):
            missing = await manager.get(path)
            assert missing.status_code == 404
            assert SCRIPT not in missing.text

    played(scene, admin=Admin(), routes=OWN)


def test_every_answer_has_the_protective_headers(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for path in ("/", "/nothing", "/api", "/static/manager.css", "/login"):
            headers = (await manager.get(path)).headers
            assert "script-src 'self'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert headers["cache-control"] == ("public, max-age=86400" if "static" in path else "no-store")

    played(scene, admin=Admin(), routes=OWN)


def test_another_host_name_is_refused_without_logins(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await manager.get("/", headers={"host": "evil.example:9000"})).status_code == 421
        assert (await manager.get("/", headers={"host": "[::1]:9000"})).status_code == 200

    played(scene, admin=Admin(), routes=OWN)


def test_a_cluster_that_is_down_is_shown_as_such_and_the_rest_works(played: Callable[..., None]) -> None:
    """Nothing listens on port 1; the clock does not move, so nothing times out either."""

    async def scene(manager: CalledManager) -> None:
        cluster = manager.services.clusters.get("test")
        assert cluster is not None

        async def refuse(**_: Any) -> None:
            raise ConnectionRefusedError("Connection refused")

        cluster._admin = Admin(describe_cluster=refuse, list_topics=refuse)  # type: ignore[assignment]
        first = await manager.get("/")
        assert (first.status_code, "not reachable" in first.text) == (200, True)
        page = await manager.get("/clusters/test/racks")
        assert (page.status_code, "does not answer" in page.text) == (503, True)
        assert 'href="/clusters/test/racks" aria-current="page"' in page.text
        failure = (await manager.get("/api/clusters/test/racks")).json()
        assert failure["code"] == "cluster_unreachable"

    played(scene, routes=OWN)


def test_every_route_of_the_json_interface_is_described(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        document = json.loads((await manager.get("/api/openapi.json")).text)
        described = {(method.upper(), path) for path, each in document["paths"].items() for method in each}
        assert described == {(route.method, f"/api{route.path.rstrip('/')}") for route in ROUTES if route.in_api}
        ids = [each["operationId"] for path in document["paths"].values() for each in path.values()]
        assert len(ids) == len(set(ids))
        text = json.dumps(document)
        for name in document["components"]["schemas"]:
            assert f"#/components/schemas/{name}" in text

    played(scene)


def test_no_template_has_script_or_style_inside_or_marks_text_as_safe() -> None:
    from kafka_py.manager.web.rendering import TEMPLATES

    for path in TEMPLATES.rglob("*.html"):
        text = path.read_text()
        for bad in ("|safe", "| safe", "Markup", " style=", "<style", " onclick=", "javascript:", "hx-on", "js:"):
            assert bad not in text, (path.name, bad)
        assert text.count("<script") == text.count("<script src="), path.name


def test_hosts_are_answered_that_are_named_whatever_their_case(played: Callable[..., None], tmp_path: Path) -> None:
    async def scene(manager: CalledManager) -> None:
        for host, status in (
            ("LOCALHOST:9000", 200), ("[::1]:9000", 200), ("kafka.example", 200), ("evil.example", 421), ("", 421),
        ):  # fmt: skip
            assert (await manager.get("/login", headers={"host": host})).status_code == status, host

    UsersFile(tmp_path / "users").add(new_user("ann", AccessRole.READER, "a long password", Chance(1)))
    played(scene, routes=OWN, users=tmp_path / "users", public_names=("Kafka.example",))


def test_with_tls_the_cookie_and_the_name_stay_with_it(played: Callable[..., None], tmp_path: Path) -> None:
    async def with_tls(manager: CalledManager) -> None:
        page = await manager.get("/")
        assert "secure" in page.headers["set-cookie"].lower()
        assert page.headers["strict-transport-security"].startswith("max-age=")

    async def without(manager: CalledManager) -> None:
        page = await manager.get("/")
        assert "secure" not in page.headers["set-cookie"].lower()
        assert "strict-transport-security" not in page.headers

    played(with_tls, admin=Admin(), routes=OWN, tls_certificate=tmp_path / "c", tls_key=tmp_path / "k")
    played(without, admin=Admin(), routes=OWN)
