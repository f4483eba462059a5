"""Settings of all brokers that are not set yet: what may be a secret is shown and kept nowhere."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafka_py.clients.admin.resources import ConfigEntry, ConfigResource, ConfigSource
from kafka_py.clients.admin.results import Results
from kafka_py.manager.pages.settings_table import HIDDEN
from kafka_py.testing.web_manager import CalledManager

SECRET, OLD_SECRET = "a secret value", "a secret before"
PATH = "/clusters/test/brokers/default/settings"


class BrokerSettings(SimpleNamespace):
    """Broker 3 knows two settings; nothing is set for all brokers. changed: the names of those that were."""

    def __init__(self) -> None:
        super().__init__(changed=[])

    async def describe_cluster(self) -> SimpleNamespace:
        return SimpleNamespace(nodes=[SimpleNamespace(id=3)])

    async def describe_configs(self, resources: dict[ConfigResource, Any], **_: Any) -> Results[ConfigResource, Any]:
        known = {
            "log.cleaner.threads": ConfigEntry("log.cleaner.threads", "1", ConfigSource.DEFAULT_CONFIG),
            "own.password": ConfigEntry(
                "own.password", OLD_SECRET, ConfigSource.STATIC_BROKER_CONFIG, is_sensitive=True
            ),
        }
        return Results({each: known if each.name == "3" else {} for each in resources})

    async def incremental_alter_configs(
        self, changes: dict[ConfigResource, Any], validate_only: bool = False
    ) -> Results[ConfigResource, None]:
        if not validate_only:
            self.changed += [each.name for some in changes.values() for each in some]
        return Results(dict.fromkeys(changes))

    async def close(self) -> None: ...


def test_a_secret_that_is_set_is_shown_nowhere(played: Callable[..., None]) -> None:
    async def scene(manager: CalledManager) -> None:
        path = "/clusters/test/brokers/3/settings"
        for answer in (
            await manager.get(f"{path}?name=own.password"), await manager.get(f"/api{path}?name=own.password"),
            await manager.submit(path, name="own.password", remove="true"),
        ):  # fmt: skip
            assert answer.status_code == 200 and OLD_SECRET not in answer.text
        changed = (await manager.call(path, name="own.password", value=SECRET)).json()
        assert changed["effects"] == [{"what": "own.password", "before": HIDDEN, "after": HIDDEN}]

    played(scene, admin=BrokerSettings(), allow_changes=True)


def test_a_setting_that_is_only_looked_at_stays_as_it_is(played: Callable[..., None]) -> None:
    admin = BrokerSettings()

    async def scene(manager: CalledManager) -> None:
        path, fields = "/clusters/test/brokers/3/settings", {"name": "log.cleaner.threads", "value": "2"}
        await manager.submit(path, **fields)
        await manager.call(path, dry_run=True, **fields)
        assert admin.changed == []
        await manager.submit(path, step="apply", submission="1", **fields)
        assert admin.changed == ["log.cleaner.threads"]

    played(scene, admin=admin, allow_changes=True)


def test_what_may_be_a_secret_is_hidden_before_it_is_set_for_all_brokers(
    played: Callable[..., None], tmp_path: Path
) -> None:
    async def scene(manager: CalledManager) -> None:
        for name in ("own.password", "reporter.jaas"):
            done = await manager.call(PATH, name=name, value=SECRET)
            assert done.status_code == 200 and SECRET not in done.text
        plain = (await manager.call(PATH, name="log.cleaner.threads", value="2", dry_run=True)).json()
        assert plain["effects"] == [{"what": "log.cleaner.threads", "before": "", "after": "2"}]

    played(scene, admin=BrokerSettings(), allow_changes=True)
    assert SECRET not in (tmp_path / "audit.jsonl").read_text()
