"""Users with SCRAM credentials; a password appears nowhere."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

from kafka_py.clients.admin.credentials import ScramIterations, ScramPassword
from kafka_py.clients.admin.results import Results
from kafka_py.testing.web_manager import CalledManager

SCRIPT = "<script>alert(1)</script>"
PASSWORD = " very secret "


class ScramAdmin(SimpleNamespace):
    """Has one user; notes the changes."""

    def __init__(self) -> None:
        super().__init__(changes=[])

    async def describe_user_scram_credentials(self) -> Results[str, list[ScramIterations]]:
        return Results({SCRIPT: [ScramIterations("SCRAM-SHA-256", 8192)]})

    async def alter_user_scram_credentials(
        self, changes: Mapping[str, Mapping[str, ScramPassword | None]]
    ) -> Results[str, None]:
        self.changes.append(changes)
        return Results(dict.fromkeys(changes))

    async def close(self) -> None: ...


def test_users_are_shown_created_and_deleted(played: Callable[..., None], tmp_path: Path) -> None:
    admin = ScramAdmin()

    async def scene(manager: CalledManager) -> None:
        page = await manager.get("/clusters/test/users")
        assert SCRIPT not in page.text and "8\u2009192 iterations" in page.text
        made = await manager.submit(
            "/clusters/test/users/put", name="bob", mechanism="SCRAM-SHA-512", password=PASSWORD, step="apply",
            submission="1",
        )  # fmt: skip
        assert made.status_code == 303
        assert admin.changes == [{"bob": {"SCRAM-SHA-512": ScramPassword(PASSWORD, 4096)}}]
        shown = await manager.submit("/clusters/test/users/delete", name="bob", mechanism="SCRAM-SHA-512")
        assert "--delete-config SCRAM-SHA-512" in shown.text and len(admin.changes) == 1
        await manager.call("/clusters/test/users/delete", name="bob", mechanism="SCRAM-SHA-512")
        assert admin.changes[-1] == {"bob": {"SCRAM-SHA-512": None}}
        assert "secret" not in (tmp_path / "audit.jsonl").read_text()

    played(scene, admin=admin, allow_changes=True)


def test_a_user_with_blanks_in_the_name_is_deleted_and_not_another(played: Callable[..., None]) -> None:
    admin = ScramAdmin()

    async def scene(manager: CalledManager) -> None:
        await manager.call("/clusters/test/users/delete", name="bob ", mechanism="SCRAM-SHA-512")
        assert admin.changes == [{"bob ": {"SCRAM-SHA-512": None}}]

    played(scene, admin=admin, allow_changes=True)


def test_users_that_cannot_be_are_refused(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        usual = {"name": "bob", "mechanism": "SCRAM-SHA-256", "password": "x"}
        for wrong in ({"name": ""}, {"password": ""}, {"mechanism": "PLAIN"}, {"iterations": 5}):
            assert (await manager.call("/clusters/test/users/put", **{**usual, **wrong})).status_code == 400

    played(scene, admin=ScramAdmin(), allow_changes=True)
