"""What every response has, and which host names are answered."""

import asyncio
from collections.abc import Collection

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from kafka_py.manager.web.headers import HSTS, THIS_MACHINE, ProtectiveHeaders, host_of


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers everything; what is at /kept may be kept by browsers."""
    headers = {"Cache-Control": "max-age=1"} if scope["path"] == "/kept" else {}
    await PlainTextResponse("inside", headers=headers)(scope, receive, send)


def asked(
    path: str = "/", host: str = "localhost", *, names: Collection[str] | None = THIS_MACHINE, is_tls: bool = False
) -> httpx.Response:
    async def ask() -> httpx.Response:
        app = ProtectiveHeaders(answering, names=names, is_tls=is_tls)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://any") as client:
            return await client.get(path, headers={"Host": host})

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("header", "host"),
    [("localhost:9000", "localhost"), ("LocalHost", "localhost"), ("[::1]:9000", "::1"), ("[FE80::1]", "fe80::1"),
     ("", "")],
)  # fmt: skip
def test_the_name_of_a_host_header_has_no_port_or_brackets(header: str, host: str) -> None:
    assert host_of(header) == host


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_names_of_this_machine_are_answered(host: str) -> None:
    assert asked(host=host).text == "inside"


@pytest.mark.parametrize("host", ["rebound.example", "localhost.evil.example", "[::2]", "127.0.0.2:9000"])
def test_other_names_are_refused_also_with_the_headers(host: str) -> None:
    answer = asked(host=host)
    assert answer.status_code == 421 and "inside" not in answer.text and "public_names" in answer.text
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert asked(host=host, names=None).text == "inside"


def test_no_page_runs_scripts_of_its_own_or_is_shown_in_a_frame() -> None:
    headers = asked().headers
    policy = dict(each.strip().split(" ", 1) for each in headers["content-security-policy"].split(";"))
    assert (policy["script-src"], policy["style-src"]) == ("'self'", "'self'")
    assert (policy["frame-ancestors"], policy["base-uri"], policy["object-src"]) == ("'none'",) * 3
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")


def test_only_static_files_are_kept_by_browsers_unless_an_answer_says_otherwise() -> None:
    assert asked().headers["cache-control"] == asked("/statics").headers["cache-control"] == "no-store"
    assert asked("/static/manager.css").headers["cache-control"].startswith("public")
    assert asked("/kept").headers["cache-control"] == "max-age=1"


def test_browsers_stay_with_tls_only_where_it_is_served() -> None:
    assert asked(is_tls=True).headers["strict-transport-security"] == HSTS
    assert "strict-transport-security" not in asked().headers
