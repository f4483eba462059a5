"""Quotas as rows, and changes of them."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

from kafka_py.clients.admin.quotas import ClientQuotaEntity
from kafka_py.clients.admin.results import Results
from kafka_py.manager.pages.security.quotas import DEFAULT, QuotaRow, limit_text, quota_words, rows_of
from kafka_py.testing.web_manager import CalledManager

ALICE = (("user", "alice"), ("client-id", None))


class QuotaAdmin(SimpleNamespace):
    """Keeps quotas by entity."""

    def __init__(self) -> None:
        super().__init__(quotas={ALICE: {"producer_byte_rate": 1024.0}})

    async def describe_client_quotas(
        self, *_: object, strict: bool = False
    ) -> dict[ClientQuotaEntity, dict[str, float]]:
        return {entity: dict(values) for entity, values in self.quotas.items()}

    async def alter_client_quotas(
        self, changes: Mapping[ClientQuotaEntity, Mapping[str, float | None]]
    ) -> Results[ClientQuotaEntity, None]:
        for entity, values in changes.items():
            for key, value in values.items():
                own = self.quotas.setdefault(entity, {})
                own.pop(key, None)
                if value is not None:
                    own[key] = value
        return Results(dict.fromkeys(changes))

    async def close(self) -> None: ...


def test_a_row_is_a_limit_of_an_entity() -> None:
    [row] = rows_of({ALICE: {"producer_byte_rate": 1024.0}})
    assert row == QuotaRow("alice", DEFAULT, "", "producer_byte_rate", 1024.0, "bytes/s")


def test_the_command_names_every_part_of_the_entity() -> None:
    assert quota_words(ALICE, "producer_byte_rate", 2048.0) == [
        "--alter", "--add-config", "producer_byte_rate=2048",
        "--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients", "--entity-default",
    ]  # fmt: skip
    assert quota_words((("ip", None),), "connection_creation_rate", None) == [
        "--alter", "--delete-config", "connection_creation_rate", "--entity-type", "ips", "--entity-default",
    ]  # fmt: skip


def test_quotas_are_shown_set_and_removed(played: Callable[..., None]) -> None:
    admin = QuotaAdmin()

    async def scene(manager: CalledManager) -> None:
        assert "1\u2009024" in (await manager.get("/clusters/test/quotas?search=ali")).text
        entity = {"user": "alice", "client_id_default": "on", "key": "producer_byte_rate"}
        shown = await manager.submit("/clusters/test/quotas/put", value="2048", **entity)
        assert "<del>1024</del>" in shown.text and "<ins>2048</ins>" in shown.text
        done = await manager.call("/clusters/test/quotas/put", value="2048", **entity)
        assert done.json()["message"].endswith("is 2048 now.")
        assert admin.quotas == {ALICE: {"producer_byte_rate": 2048.0}}
        entity = {"user": "alice", "client_id": DEFAULT, "key": "producer_byte_rate"}
        await manager.call("/clusters/test/quotas/delete", **entity)
        assert admin.quotas == {ALICE: {}}

    played(scene, admin=admin, allow_changes=True)


def test_a_limit_has_all_of_its_digits(played: Callable[..., None]) -> None:
    admin = QuotaAdmin()

    async def scene(manager: CalledManager) -> None:
        fields = {"user": "alice", "client_id_default": "on", "key": "producer_byte_rate", "value": "10485761"}
        done = (await manager.call("/clusters/test/quotas/put", **fields)).json()
        assert "producer_byte_rate=10485761 " in done["command_line"]
        assert (done["effects"][0]["after"], done["message"].split()[-2]) == ("10485761", "10485761")

    played(scene, admin=admin, allow_changes=True)
    assert (limit_text(0.5), limit_text(1e15)) == ("0.5", "1000000000000000")


def test_the_limit_of_a_name_with_blanks_is_removed_and_not_that_of_another(played: Callable[..., None]) -> None:
    admin = QuotaAdmin()
    admin.quotas = {(("user", name),): {"producer_byte_rate": 1.0} for name in ("bob", "bob ")}

    async def scene(manager: CalledManager) -> None:
        await manager.call("/clusters/test/quotas/delete", user="bob ", key="producer_byte_rate")
        assert admin.quotas == {(("user", "bob"),): {"producer_byte_rate": 1.0}, (("user", "bob "),): {}}

    played(scene, admin=admin, allow_changes=True)


def test_quotas_that_cannot_be_are_refused(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        for wrong in (
            {"key": "producer_byte_rate", "value": "1"},
            {"user": "a", "ip": "10.0.0.1", "key": "connection_creation_rate", "value": "1"},
            {"user": "a", "key": "x", "value": "1"},
            {"user": "a", "key": "request_percentage", "value": "much"},
            {"user": "a", "key": "request_percentage", "value": "-1"},
            {"user": "a", "key": "request_percentage", "value": "nan"},
        ):
            assert (await manager.call("/clusters/test/quotas/put", **wrong)).status_code == 400

    played(scene, admin=QuotaAdmin(), allow_changes=True)
