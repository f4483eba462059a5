"""A committed offset, as the consumer and the admin client take and give it, and how offsets are asked for.

Source: OffsetAndMetadata.
"""

from __future__ import annotations

from typing import NamedTuple

CONSUMER = -1
"""replica_id of a request that no broker sends."""


class OffsetAndMetadata(NamedTuple):
    """Where a group goes on: the offset of the next record to read.

    leader_epoch: of the last record read (KIP-320), -1 when not known. metadata: the committer's own text.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
