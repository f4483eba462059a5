"""Settings of topics and brokers with their sources, and changes of one setting (KIP-226, KIP-339)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kafka_py.base.errors import ErrorCode, KafkaError
from kafka_py.clients.admin.resources import (
    AlterConfig,
    AlterOperation,
    ConfigEntry,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from kafka_py.manager.clusters import ManagedCluster
from kafka_py.manager.pages.commands import command, config_words
from kafka_py.manager.web.answers import Effect, Page, PlannedChange
from kafka_py.manager.web.formats import part
from kafka_py.manager.web.requests import NotFound, PageRequest
from kafka_py.manager.web.routes import CLUSTER, RouteParameter, changes, reads

HIDDEN = "(hidden)"
SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "this topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "this broker, dynamic",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers, dynamic",
    ConfigSource.STATIC_BROKER_CONFIG: "server.properties",
    ConfigSource.DEFAULT_CONFIG: "default",
    ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG: "logger",
    ConfigSource.UNKNOWN: "unknown",
}
KINDS = {"topics": ConfigResourceType.TOPIC, "brokers": ConfigResourceType.BROKER}
EVERY_BROKER = "default"
"""Stands for the name of the settings of all brokers in a path."""


class SettingRow(NamedTuple):
    """value: null for one that is sensitive. source: as readers see it. is_own: set for this topic or broker itself."""

    name: str
    value: str | None
    source: str
    is_changed: bool
    is_own: bool
    is_read_only: bool
    is_sensitive: bool
    about: str


async def settings_of(cluster: ManagedCluster, resource: ConfigResource) -> list[SettingRow]:
    """All settings, those that are not the default first. Raises KafkaError."""
    found = await cluster.admin.describe_configs([resource], include_documentation=True)
    rows = [row_of(entry) for entry in found.value(resource).values()]
    return sorted(rows, key=lambda row: (not row.is_own, not row.is_changed, row.name))


def row_of(entry: ConfigEntry) -> SettingRow:
    """One setting as a row."""
    own = (ConfigSource.DYNAMIC_TOPIC_CONFIG, ConfigSource.DYNAMIC_BROKER_CONFIG)
    return SettingRow(
        entry.name, None if entry.is_sensitive else entry.value, SOURCES[entry.source], not entry.is_default,
        entry.source in own, entry.is_read_only, entry.is_sensitive, entry.documentation or "",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SettingPage:
    """The form for one setting. kind: `topics` or `brokers`. owner: a topic, a broker's id, or `default`."""

    kind: str
    owner: str
    setting: SettingRow
    value: str
    problem: str = ""


def owner_of(request: PageRequest) -> tuple[str, str]:
    """The kind and the name of whose setting it is. Raises NotFound."""
    kind, owner = request.path["kind"], request.path["owner"]
    if kind not in KINDS:
        raise NotFound(f"There are no settings of {kind[:50]}")
    return kind, owner


def resource_of(kind: str, owner: str) -> ConfigResource:
    """As the protocol names it: the settings of all brokers have an empty name."""
    return ConfigResource(KINDS[kind], "" if kind == "brokers" and owner == EVERY_BROKER else owner)


async def _setting(request: PageRequest, kind: str, owner: str, name: str) -> SettingRow:
    """The setting as it is. Raises NotFound; one of all brokers that is not set yet has no value."""
    resource = resource_of(kind, owner)
    described = await request.cluster.admin.describe_configs({resource: [name]}, include_documentation=True)
    found = described.value(resource)
    if name in found:
        return row_of(found[name])
    if owner == EVERY_BROKER:
        return SettingRow(name, None, "not set", False, False, False, await _is_secret(request.cluster, name), "")
    raise NotFound(f"There is no setting {name[:100]}")


async def _is_secret(cluster: ManagedCluster, name: str) -> bool:
    """Whether a setting that is not set for all brokers holds a secret, as a broker says; one that none knows may."""
    nodes = (await cluster.admin.describe_cluster()).nodes
    if not nodes:
        return True
    resource = ConfigResource(ConfigResourceType.BROKER, str(nodes[0].id))
    found = (await cluster.admin.describe_configs({resource: [name]})).value(resource)
    return name not in found or found[name].is_sensitive


async def form(request: PageRequest) -> Page:
    """The form for one setting."""
    kind, owner = owner_of(request)
    row = await _setting(request, kind, owner, request.text("name"))
    return Page("settings/form.html", SettingPage(kind, owner, row, row.value or ""), row.name)


async def change(request: PageRequest) -> PlannedChange | Page:
    """Sets one setting, or removes it; the broker checks the value before anything is shown."""
    kind, owner = owner_of(request)
    name, is_removed = request.text("name"), request.flag("remove")
    row = await _setting(request, kind, owner, name)
    value = "" if is_removed else request.text("value")
    resource = resource_of(kind, owner)
    asked = AlterConfig(name, None, AlterOperation.DELETE) if is_removed else AlterConfig(name, value)
    admin = request.cluster.admin
    try:
        (await admin.incremental_alter_configs({resource: [asked]}, validate_only=True)).all()
    except KafkaError as error:
        if error.code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST) and not request.is_api:
            model = SettingPage(kind, owner, row, value, error.message)
            return Page("settings/form.html", model, name, 422)
        raise

    async def apply() -> str:
        (await admin.incremental_alter_configs({resource: [asked]})).all()
        return f"{name} was {'removed' if is_removed else 'changed'}."

    shown = HIDDEN if row.is_sensitive else value
    entity = ["--entity-default"] if resource.name == "" else ["--entity-name", owner]
    words = ["--delete-config", name] if is_removed else ["--add-config", *config_words({name: shown})]
    whose = "all brokers" if resource.name == "" else f"{kind[:-1]} {owner}"
    back = f"/clusters/{part(request.cluster.name)}/{kind}" + ("" if resource.name == "" else f"/{part(owner)}")
    return PlannedChange(
        f"{'Remove' if is_removed else 'Set'} {name} of {whose}",
        command(request.cluster, "kafka-configs.sh", "--alter", "--entity-type", kind, *entity, *words),
        apply,
        back,
        [Effect(name, HIDDEN if row.is_sensitive else row.value or "", "its default" if is_removed else shown)],
    )


_NAME = RouteParameter("name", "The name of the setting.", is_required=True)
ROUTES = (
    reads(f"{CLUSTER}/{{kind}}/{{owner}}/settings", form, "One setting of a topic, a broker or all brokers.",
          SettingPage, _NAME),
    changes(
        f"{CLUSTER}/{{kind}}/{{owner}}/settings", change, "Changes one setting of a topic, a broker or all brokers.",
        _NAME, RouteParameter("value", "The new value."),
        RouteParameter("remove", "Removes the setting, so that its default holds again.", "boolean"),
    ),
)  # fmt: skip
