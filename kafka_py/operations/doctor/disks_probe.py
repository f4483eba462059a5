"""The disks of log directories: as brokers tell (from 3.3 on), or where they run on this machine (I/O).

A path counts as that of a broker only if the meta.properties there has the cluster's and the broker's id.
Source: docs/reference/log.md, section 1; KIP-827 (bytes of disks).
"""

from __future__ import annotations

import os
from pathlib import Path

from kafka_py.base.errors import ConfigError
from kafka_py.base.properties import read_properties
from kafka_py.operations.cluster_view.snapshot import ClusterSnapshot
from kafka_py.operations.doctor.examination import DiskSeen


def disks_of(snapshot: ClusterSnapshot) -> tuple[DiskSeen, ...]:
    """The disks of which a broker tells, and those of directories on this machine, failed directories included."""
    found = []
    for broker, directories in snapshot.log_dirs.items():
        for path, directory in directories.items():
            if directory.total_bytes is not None and directory.usable_bytes is not None:
                found.append(DiskSeen(broker, path, directory.total_bytes, directory.usable_bytes))
            elif (seen := _disk(broker, path, snapshot.cluster_id)) is not None:
                found.append(seen)
    return tuple(found)


def _disk(broker: int, path: str, cluster_id: str | None) -> DiskSeen | None:
    try:
        meta = read_properties(str(Path(path) / "meta.properties"))
        if (meta.get("cluster.id"), meta.get("broker.id")) != (cluster_id, str(broker)):
            return None
        stats = os.statvfs(path)
    except (OSError, ConfigError):
        return None
    return DiskSeen(broker, path, stats.f_blocks * stats.f_frsize, stats.f_bavail * stats.f_frsize)
