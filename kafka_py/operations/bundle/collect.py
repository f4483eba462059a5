"""Puts everything together: what the cluster answers, what the doctor finds, and what is on this machine."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata

import kafka_py
from kafka_py.base.clock import Clock
from kafka_py.base.properties import format_properties
from kafka_py.clients.admin.client import AsyncAdminClient
from kafka_py.clients.environment import SYSTEM, ClientEnvironment
from kafka_py.operations.bundle.documents import json_text
from kafka_py.operations.bundle.entries import BoundedEntries, BundleEntry, BundleLimits, bounded, manifest, text_entry
from kafka_py.operations.bundle.local_files import logs_in
from kafka_py.operations.bundle.redaction import IsSecret, Redactor, secrets_in, without_secrets
from kafka_py.operations.cluster_view.asking import LookLimits
from kafka_py.operations.cluster_view.look import look_at
from kafka_py.operations.doctor.checks.all_checks import findings_in
from kafka_py.operations.doctor.examine import DoctorRequest, examine
from kafka_py.operations.doctor.findings import report_of
from kafka_py.operations.doctor.metrics_probe import read_page

LIBRARIES = ("asyncio", "crc32c", "cryptography", "kazoo", "lz4", "python-snappy", "zstandard", "uvloop")


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """What to put in.

    doctor: how to come to the cluster; None for files of this machine alone. is_secret: by the name of a setting.
    settings: of this machine, by file name. logs: files and folders.
    """

    is_secret: IsSecret
    doctor: DoctorRequest | None = None
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)  # with passwords
    logs: Sequence[str] = ()
    limits: BundleLimits = field(default_factory=BundleLimits)


async def collect(request: BundleRequest, environment: ClientEnvironment = SYSTEM) -> list[BundleEntry]:
    """All files of the archive, bundle.json first. Raises ConfigError for settings of a client that cannot be used."""
    redactor = Redactor(_secrets(request))
    now = datetime.fromtimestamp(environment.clock.wall_ms() / 1000, UTC).isoformat(timespec="seconds")
    entries = [text_entry("versions.json", json_text(versions()))]
    problems: list[str] = []
    if request.doctor is not None:
        asked, problems = await _of_cluster(request.doctor, request.is_secret, environment)
        entries += asked
    for number, (name, settings) in enumerate(request.settings.items()):
        shown = format_properties(without_secrets(settings, request.is_secret), [name])
        entries.append(text_entry(f"settings/{number}-{name.rpartition('/')[2]}", shown))
    loop = asyncio.get_running_loop()
    limits = request.limits
    logs = await loop.run_in_executor(None, logs_in, request.logs, limits.entry_bytes, limits.files)
    clean = [_redacted(entry, redactor) for entry in (*entries, *logs.entries)]
    kept = bounded(clean, limits)
    left_out = [redactor.text(line) for line in (*kept.left_out, *problems, *logs.problems)]
    about = json_text(manifest(now, kafka_py.__version__, BoundedEntries(kept.entries, left_out)))
    return [text_entry("bundle.json", about), *kept.entries]


def _secrets(request: BundleRequest) -> set[str]:
    files = [*request.settings.values()]
    if request.doctor is not None:
        files += [{name: str(value) for name, value in request.doctor.configs.items()},
                  *request.doctor.client_files.values()]  # fmt: skip
    return {secret for settings in files for secret in secrets_in(settings, request.is_secret)}


def _redacted(entry: BundleEntry, redactor: Redactor) -> BundleEntry:
    return entry._replace(data=redactor.text(entry.data.decode("utf-8", "replace")).encode("utf-8", "replace"))


def versions() -> dict[str, str]:
    """Of this software, its libraries, Python and the machine."""
    found = {
        "kafka_py": kafka_py.__version__,
        "as_kafka": kafka_py.KAFKA_VERSION,
        "python": platform.python_version(),
        "machine": platform.platform(),
    }
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


async def _of_cluster(
    request: DoctorRequest, is_secret: IsSecret, environment: ClientEnvironment
) -> tuple[list[BundleEntry], list[str]]:
    """What the cluster answers, and what it does not."""
    shown = {name: without_secrets(settings, is_secret) for name, settings in request.client_files.items()}
    seen = await examine(replace(request, client_files=shown), environment)
    entries = [
        text_entry("doctor.json", json_text(report_of(findings_in(seen), seen.unchecked).document())),
        text_entry("examination.json", json_text(replace(seen, snapshot=None, broker_settings={}, topic_settings={}))),
        text_entry("settings/topics.json", json_text(seen.topic_settings)),
    ]
    entries += [
        text_entry(
            f"settings/broker-{broker}.properties",
            format_properties({name: value for name, value in sorted(settings.items()) if value is not None}),
        )
        for broker, settings in seen.broker_settings.items()
    ]
    pages, problems = await _pages(request.metrics, environment.clock, request.timeout_s)
    entries += pages
    good = [reached.where for reached in seen.bootstrap if reached.failed is None]
    if not good:
        return entries, [*problems, "cluster.json: no bootstrap server can be used"]
    lost = [broker for broker, reached in seen.advertised.items() if reached.failed is not None]
    configs = {**request.configs, "bootstrap.servers": ",".join(good)}
    async with AsyncAdminClient(configs, environment=environment) as admin:
        limits = LookLimits(timeout_ms=int(request.timeout_s * 1000))
        entries.append(text_entry("cluster.json", json_text(await look_at(admin, without=lost, limits=limits))))
    return entries, problems


async def _pages(urls: Sequence[str], clock: Clock, timeout_s: float) -> tuple[list[BundleEntry], list[str]]:
    """The pages of metrics as they are."""
    loop = asyncio.get_running_loop()
    texts = await asyncio.gather(*(loop.run_in_executor(None, _page, url, clock, timeout_s) for url in urls))
    entries, problems = [], []
    for number, (url, text) in enumerate(zip(urls, texts, strict=True)):
        if isinstance(text, bytes):
            entries.append(BundleEntry(f"metrics/{number}.txt", text))
        else:
            problems.append(f"metrics of {url}: {text}")
    return entries, problems


def _page(url: str, clock: Clock, timeout_s: float) -> bytes | str:
    try:
        return read_page(url, clock, timeout_s).body
    except (OSError, ValueError) as error:
        return str(error)
