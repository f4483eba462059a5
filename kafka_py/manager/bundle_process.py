"""Makes a support archive in a process of its own, for the texts of a large cluster would hold pages up: it reads what
to do as a JSON object from its input, and answers with one. Secrets among the settings come over the input only.

    python -m kafka_py.manager.bundle_process < request.json
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafka_py.base.clock import SYSTEM_CLOCK
from kafka_py.base.errors import ConfigError, KafkaError
from kafka_py.clients.admin.configs import AdminOptions
from kafka_py.operations.bundle.archive import write_archive
from kafka_py.operations.bundle.collect import BundleRequest, collect
from kafka_py.operations.bundle.entries import BundleLimits
from kafka_py.operations.doctor.examine import DoctorRequest

STEP_TIMEOUT_S = 5.0
MOST_BYTES = 64 << 20
"""Before compression."""


class ArchiveRequest(NamedTuple):
    """properties: of a client of the cluster. stem: the folder in the archive. path: of the file that is made."""

    properties: dict[str, Any]
    zookeeper: str
    path: str
    stem: str

    def __repr__(self) -> str:
        return f"<ArchiveRequest of {self.path}>"  # without the properties, which have passwords


class ArchiveMade(NamedTuple):
    """What came of it. problem: why there is no archive, else empty."""

    files: int = 0
    size_bytes: int = 0
    problem: str = ""


def is_secret(name: str) -> bool:
    """Whether this setting of a client must not be shown; one that is in no table is secret."""
    row = AdminOptions.ROWS.get(name)
    return row is None or row.sensitive


def make(request: ArchiveRequest, limits: BundleLimits | None = None) -> ArchiveMade:
    """Asks the cluster and writes the archive."""
    asked = BundleRequest(
        is_secret=is_secret,
        doctor=DoctorRequest(request.properties, zookeeper=request.zookeeper or None, timeout_s=STEP_TIMEOUT_S),
        limits=limits or BundleLimits(total_bytes=MOST_BYTES),
    )
    try:
        entries = asyncio.run(collect(asked))
        size = write_archive(Path(request.path), entries, request.stem, SYSTEM_CLOCK.wall_ms() / 1000)
    except (ConfigError, KafkaError, OSError) as error:
        return ArchiveMade(problem=str(error) or type(error).__name__)
    return ArchiveMade(len(entries), size)


def request_of(document: Mapping[str, Any]) -> ArchiveRequest:
    """The request in a JSON object."""
    return ArchiveRequest(**document)


def main() -> None:
    logging.disable()  # what fails is in bundle.json
    print(json.dumps(make(request_of(json.load(sys.stdin)))._asdict()))


if __name__ == "__main__":
    main()
