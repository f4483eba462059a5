"""`meta.properties`: which broker of which cluster a log directory belongs to, and the rules for the broker's id.

The rules are plain functions over the files' content; the caller gets a generated id from ZooKeeper.
Source: docs/reference/log.md, section 2; docs/reference/zookeeper.md, section 7.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from kafka_py.base.properties import format_properties, parse_properties
from kafka_py.log.disk.files import Files, write_atomically


class InconsistentBrokerId(Exception):
    """The directories, or the directories and the configuration, name different brokers; the broker must not start."""


class InconsistentClusterId(Exception):
    """The directories belong to another cluster; the broker must not start."""


class InconsistentMetadata(Exception):
    """A meta.properties file has another version, cannot be parsed, or contradicts another one."""


class MetaProperties(NamedTuple):
    """The content of one file; either field may be missing."""

    broker_id: int | None = None
    cluster_id: str | None = None


def parse_meta_properties(text: str, path: str) -> MetaProperties:
    """The file's content. Raises InconsistentMetadata for another version than 0 or a malformed broker id."""
    properties = parse_properties(text, path)
    version = properties.get("version", "0").strip()
    if version != "0":
        raise InconsistentMetadata(
            f"{path} has version {version}: the directory was made for another mode (KRaft) and cannot be used"
        )
    broker_id = properties.get("broker.id")
    if broker_id is None:
        return MetaProperties(None, properties.get("cluster.id"))
    try:
        return MetaProperties(int(broker_id), properties.get("cluster.id"))
    except ValueError:
        raise InconsistentMetadata(f"{path}: broker.id {broker_id!r} is not a number") from None


def read_meta_properties(files: Files, path: str) -> MetaProperties | None:
    """The content of a meta.properties file; None without one. Raises InconsistentMetadata, OSError."""
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return None
    return parse_meta_properties(data.decode("utf-8", "replace"), path)


def agreed(found: Mapping[str, MetaProperties | None]) -> MetaProperties:
    """The common content of all files that exist; empty when there is none.

    found: by directory. Raises InconsistentBrokerId, InconsistentMetadata when two files differ.
    """
    first: tuple[str, MetaProperties] | None = None
    for directory, meta in found.items():
        if meta is None:
            continue
        if first is None:
            first = directory, meta
        elif meta.broker_id != first[1].broker_id:
            raise InconsistentBrokerId(
                f"meta.properties in {first[0]} has broker.id {first[1].broker_id}, in {directory} {meta.broker_id}: "
                "do the log directories belong to different brokers?"
            )
        elif meta != first[1]:
            raise InconsistentMetadata(f"meta.properties in {first[0]} and {directory} differ: {first[1]}, {meta}")
    return first[1] if first else MetaProperties()


def choose_broker_id(configured: int, stored: int | None, *, generation_enabled: bool) -> int | None:
    """The id to start with; None when one has to be generated.

    configured: broker.id of server.properties, -1 when not set. stored: that of meta.properties. Raises
        InconsistentBrokerId when both are set and differ, or when neither is set and broker.id.generation.enable is
        false.
    """
    if configured >= 0 and stored is not None and configured != stored:
        raise InconsistentBrokerId(
            f"broker.id {configured} of the configuration is not the {stored} of meta.properties; if the log "
            "directories were meant for this broker, correct the configuration, else point log.dirs elsewhere"
        )
    if stored is not None:
        return stored
    if configured >= 0:
        return configured
    if not generation_enabled:
        raise InconsistentBrokerId("broker.id is not configured, not stored, and broker.id.generation.enable is false")
    return None


def check_cluster_id(stored: str | None, actual: str) -> None:
    """Raises InconsistentClusterId when the stored cluster id is not the one in ZooKeeper."""
    if stored is not None and stored != actual:
        raise InconsistentClusterId(
            f"the log directories belong to cluster {stored}, ZooKeeper to {actual}; "
            "check zookeeper.connect and log.dirs"
        )


def format_meta_properties(meta: MetaProperties, now_ms: int) -> bytes:
    """The file's content, with the time as a comment in Java's format."""
    pairs = {"broker.id": str(meta.broker_id), "version": "0"}
    if meta.cluster_id is not None:
        pairs["cluster.id"] = meta.cluster_id
    date = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(now_ms / 1000))
    return format_properties(pairs, ["", date]).encode()


def write_meta_properties(files: Files, path: str, meta: MetaProperties, now_ms: int) -> None:
    """Replaces the file, synced. Blocks."""
    write_atomically(files, path, format_meta_properties(meta, now_ms))
