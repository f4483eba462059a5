"""Delegation tokens: the HMAC of a new one is shown once, and nowhere else."""

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from kafka_py.manager.pages.security.tokens import HOUR_MS
from kafka_py.net.principal import Principal
from kafka_py.security.tokens.delegation_tokens import DelegationToken
from kafka_py.testing.web_manager import CalledManager

TOKEN = DelegationToken("id-1", Principal("User", "manager"), (), 0, HOUR_MS, 2 * HOUR_MS, b"the hmac")


class TokenAdmin(SimpleNamespace):
    """Has no token at first; notes the changes."""

    def __init__(self) -> None:
        super().__init__(tokens=[], changes=[])

    async def describe_delegation_token(self) -> list[DelegationToken]:
        return list(self.tokens)

    async def create_delegation_token(
        self, renewers: Collection[Principal], *, max_lifetime_ms: int
    ) -> DelegationToken:
        self.changes.append((list(renewers), max_lifetime_ms))
        self.tokens.append(TOKEN)
        return TOKEN

    async def renew_delegation_token(self, hmac: bytes, *, period_ms: int) -> int:
        self.changes.append(("renew", hmac, period_ms))
        return 0

    async def expire_delegation_token(self, hmac: bytes) -> int:
        for each in [each for each in self.tokens if each.hmac == hmac]:
            self.tokens.remove(each)
        return 0

    async def close(self) -> None: ...


def test_a_token_is_created_shown_once_renewed_and_ended(played: Callable[..., None], tmp_path: Path) -> None:
    admin = TokenAdmin()

    async def scene(manager: CalledManager) -> None:
        shown = await manager.submit("/clusters/test/tokens/create", renewers="User:alice, User:bob", hours="5")
        assert "--renewer-principal User:alice" in shown.text and admin.changes == []
        made = await manager.submit(
            "/clusters/test/tokens/create", renewers="User:alice", hours="5", step="apply", submission="1"
        )
        assert admin.changes == [([Principal("User", "alice")], 5 * HOUR_MS)]
        assert (await manager.client.head(made.headers["location"])).status_code == 405
        first, second = [await manager.get(made.headers["location"]) for _ in range(2)]
        assert TOKEN.password in first.text
        assert second.status_code == 404
        page = await manager.get("/clusters/test/tokens")
        assert "id-1" in page.text and TOKEN.password not in page.text
        renewed = await manager.call("/clusters/test/tokens/renew", id="id-1")
        assert admin.changes[-1] == ("renew", TOKEN.hmac, -1)
        assert "--hmac &lt;hmac&gt;" not in renewed.text and TOKEN.password not in renewed.text
        await manager.call("/clusters/test/tokens/expire", id="id-1")
        assert admin.tokens == []
        assert (await manager.call("/clusters/test/tokens/expire", id="id-1")).status_code == 404
        assert TOKEN.password not in (tmp_path / "audit.jsonl").read_text()

    played(scene, admin=admin, allow_changes=True)


def test_only_the_token_that_is_named_ends(played: Callable[..., None]) -> None:
    admin = TokenAdmin()
    other = replace(TOKEN, token_id="id-2", hmac=b"another hmac")
    admin.tokens = [other, TOKEN]

    async def scene(manager: CalledManager) -> None:
        await manager.call("/clusters/test/tokens/expire", id="id-1")
        assert admin.tokens == [other]

    played(scene, admin=admin, allow_changes=True)


def test_readers_see_no_hmac(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await manager.get("/clusters/test/tokens/created?number=1")).status_code == 403

    played(scene, admin=TokenAdmin())


def test_a_renewer_that_is_no_principal_is_refused(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        assert (await manager.call("/clusters/test/tokens/create", renewers="alice")).status_code == 400

    played(scene, admin=TokenAdmin(), allow_changes=True)
