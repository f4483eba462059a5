"""/metrics of the manager: who may scrape it, and what there is without an observation."""

from collections.abc import Callable
from pathlib import Path

from kafka_py.base.chance import Chance
from kafka_py.manager.identity.roles import AccessRole
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
