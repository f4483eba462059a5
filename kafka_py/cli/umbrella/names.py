"""kafka-py names topics|groups -- WORDS: the names that shell completion offers, at once and from a cache.

It never waits for a cluster: what a former call has found is printed, and where that is older than FRESH_S a process in
the background looks again, for the next time. WORDS are the command line so far, for its cluster and profile.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from kafka_py.base.properties import read_properties
from kafka_py.cli.common.command import CommandFailed, run
from kafka_py.cli.common.user_folders import cache_directory
from kafka_py.cli.common.whole_files import replace_text
from kafka_py.cli.umbrella.profiles import SERVERS, settings_for, take_name

KINDS = ("topics", "groups")
FRESH_S = 5.0
LOOK_TIMEOUT_S = 5.0
REFRESH = "--refresh"
SECRET = re.compile(r"password|jaas|keystore\.key|certificate")
SERVERS_OPTIONS = ("--bootstrap-server", "--bootstrap-servers", "--broker-list")


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """The client settings that a command line means, as far as it goes; empty where it names no cluster."""
    profile, rest = take_name(words[:-1] if words[-1:] == ["--profile"] else words)
    settings = settings_for(profile, os.environ)
    for name, value in pairwise(rest):
        if name in SERVERS_OPTIONS:
            settings = {**settings, SERVERS: value}
        elif name in ("--command-config", "--consumer.config", "--producer.config", "--admin.config"):
            settings = {**settings, **read_properties(value), SERVERS: settings.get(SERVERS, "")}
    return settings if settings.get(SERVERS) else {}


def cache_file(kind: str, settings: dict[str, str]) -> Path:
    """Where the names of this cluster are kept. Secrets are not part of the digest, which others may be able to see."""
    shown = sorted((name, value) for name, value in settings.items() if not SECRET.search(name))
    digest = hashlib.sha256(repr(shown).encode()).hexdigest()[:16]
    return cache_directory() / "completion" / f"{kind}-{digest}"


def is_fresh(path: Path, now_s: float) -> bool:
    """Whether the file was written, or a look for it begun, a short while ago."""
    try:
        return now_s - path.stat().st_mtime < FRESH_S
    except OSError:
        return False


def look(kind: str, settings: dict[str, str]) -> list[str]:
    """The names as the cluster has them. Raises KafkaError."""
    from kafka_py.clients.admin.client import AdminClient

    with AdminClient(settings) as admin:
        if kind == "topics":
            return sorted(admin.list_topics(timeout=LOOK_TIMEOUT_S))
        return sorted(group.group_id for group in admin.list_consumer_groups(timeout=LOOK_TIMEOUT_S))


def refresh(kind: str, settings: dict[str, str]) -> None:
    """Looks, and keeps what was found. Raises KafkaError, OSError."""
    names = look(kind, settings)
    path = cache_file(kind, settings)
    replace_text(path, "".join(f"{name}\n" for name in names))


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] not in KINDS:
        raise CommandFailed(f"kafka-py names takes {' or '.join(KINDS)}")
    kind, *words = arguments
    if words[:1] == [REFRESH]:
        refresh(kind, settings_of(words[2:]))
        return 0
    settings = settings_of(words[1:])
    if not settings:
        return 0
    path = cache_file(kind, settings)
    if path.exists():
        sys.stdout.write(path.read_text())
    begun = path.with_name(f"{path.name}.begun")
    if not is_fresh(path, time.time()) and not is_fresh(begun, time.time()):
        path.parent.mkdir(parents=True, exist_ok=True)
        begun.touch()
        _in_background([kind, REFRESH, *words])
    return 0


def _in_background(arguments: Sequence[str]) -> None:
    from kafka_py.cli.common.detached import start_detached

    start_detached([sys.executable, "-P", "-m", "kafka_py.cli.umbrella.names", *arguments])


def cli() -> None:
    run(main)


if __name__ == "__main__":
    cli()
