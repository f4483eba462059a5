"""/metrics of the manager: who may scrape it, and what there is without an observation."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from kafka_py.base.chance import Chance
from kafka_py.base.errors import ConfigError
from kafka_py.manager.identity.roles import AccessRole
from kafka_py.manager.identity.scrape_token import ScrapeToken
from kafka_py.manager.identity.users import UsersFile, new_user
from kafka_py.testing.web_manager import CalledManager


def test_everybody_on_this_machine_may_scrape_and_no_session_is_opened(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        answer = await manager.get("/metrics")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert "set-cookie" not in answer.headers

    played(scene, extra={})


def test_without_a_history_there_is_nothing_to_scrape(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        answer = await manager.get("/metrics")
        assert answer.status_code == 404 and "is_enabled of [history] is false" in answer.text

    played(scene)


def test_where_users_log_in_a_scrape_needs_a_name_and_a_password(played: Callable[..., None], tmp_path: Path) -> None:
    users = tmp_path / "users"
    UsersFile(users).add(new_user("prometheus", AccessRole.READER, "secret of a reader", Chance(2)))

    async def scene(manager: CalledManager) -> None:
        assert (await manager.get("/metrics")).status_code == 401
        assert (await manager.get("/metrics", auth=("prometheus", "wrong"))).status_code == 401
        assert (await manager.get("/metrics", auth=("prometheus", "secret of a reader"))).status_code == 200

    played(scene, extra={}, users=users)


TOKEN = "0123456789abcdef0123456789abcdef"


def bearer(token: str) -> dict[str, dict[str, str]]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    users, token = tmp_path / "users", tmp_path / "token"
    UsersFile(users).add(new_user("ann", AccessRole.READER, "secret of a reader", Chance(2)))
    token.write_text(TOKEN + "\n")
    return {"users": users, "metrics_token": token, "audit_log": tmp_path / "audit"}


def test_a_token_opens_the_metrics_and_nothing_else(played: Callable[..., None], files: dict[str, Path]) -> None:
    async def scene(manager: CalledManager) -> None:
        answer = await manager.get("/metrics", **bearer(TOKEN))
        assert answer.status_code == 200 and "set-cookie" not in answer.headers
        assert (await manager.get("/metrics")).status_code == 401
        assert (await manager.get("/metrics", auth=("ann", "secret of a reader"))).status_code == 200
        for path in ("/api/clusters/test/topics", "/api/clusters/test/brokers"):
            assert (await manager.get(path, **bearer(TOKEN))).status_code == 401
            assert (await manager.get(path, auth=("ann", "secret of a reader"))).status_code != 401

    played(scene, extra={}, **files)


def test_wrong_tokens_are_refused_and_make_the_next_one_wait(
    played: Callable[..., None], files: dict[str, Path]
) -> None:
    async def scene(manager: CalledManager) -> None:
        for wrong in ("", TOKEN[:-1]):
            answer = await manager.get("/metrics", **bearer(wrong))
            assert answer.status_code == 401 and (not wrong or "The token is wrong" in answer.text)
        assert (await manager.get("/metrics", **bearer(TOKEN))).status_code == 200, "which forgets the failures"
        for wrong in (TOKEN + "0", TOKEN.upper(), "x"):
            assert (await manager.get("/metrics", **bearer(wrong))).status_code == 401
        answer = await manager.get("/metrics", **bearer(TOKEN))
        assert answer.status_code == 429 and int(answer.headers["retry-after"]) >= 1

    played(scene, extra={}, **files)
    refused = files["audit_log"].read_text()
    assert refused.count('"refused"') >= 4 and TOKEN[:-1] not in refused


def test_a_new_token_in_the_file_counts_at_once(played: Callable[..., None], files: dict[str, Path]) -> None:
    async def scene(manager: CalledManager) -> None:
        files["metrics_token"].write_text("f" * 40)
        assert (await manager.get("/metrics", **bearer(TOKEN))).status_code == 401
        assert (await manager.get("/metrics", **bearer("f" * 40))).status_code == 200
        files["metrics_token"].unlink()
        assert (await manager.get("/metrics", **bearer("f" * 40))).status_code >= 400

    played(scene, extra={}, **files)


def test_wrong_tokens_of_one_address_delay_no_other(played: Callable[..., None], files: dict[str, Path]) -> None:
    async def scene(manager: CalledManager) -> None:
        for _ in range(4):
            await manager.get("/metrics", **bearer("wrong"))
        assert (await manager.get("/metrics", **bearer(TOKEN))).status_code == 429
        app = manager.client._transport.app  # type: ignore[attr-defined]
        elsewhere = httpx.ASGITransport(app, client=("192.0.2.7", 1))
        async with httpx.AsyncClient(transport=elsewhere, base_url=manager.client.base_url) as other:
            assert (await other.get("/metrics", **bearer(TOKEN))).status_code == 200  # type: ignore[arg-type]

    played(scene, extra={}, **files)


@pytest.mark.parametrize("text", ["", "short"])
def test_a_manager_with_a_file_without_a_token_does_not_start(
    played: Callable[..., None], files: dict[str, Path], text: str
) -> None:
    async def scene(_manager: CalledManager) -> None:
        raise AssertionError("it has started")

    files["metrics_token"].write_text(text)
    with pytest.raises(ConfigError, match=r"metrics_token: .* has no token"):
        played(scene, extra={}, **files)


def test_without_the_setting_no_token_is_one(played: Callable[..., None], files: dict[str, Path]) -> None:
    async def scene(manager: CalledManager) -> None:
        for token in (TOKEN, ""):
            assert (await manager.get("/metrics", **bearer(token))).status_code == 401

    played(scene, extra={}, users=files["users"])


@pytest.mark.parametrize("text", ["", "\n", "short", "0123456789abcde", "two words of a token", "ä" * 20, "x" * 5000])
def test_a_file_without_a_token_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(text)
    with pytest.raises(ConfigError, match=r"metrics_token: .*token"):
        ScrapeToken(tmp_path / "token").read()


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        ScrapeToken(tmp_path / "none").read()
