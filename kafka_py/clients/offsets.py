"""A committed offset, as a parameter and a result of consumer and admin client.

Source: OffsetAndMetadata.
"""

from __future__ import annotations

from typing import NamedTuple


class OffsetAndMetadata(NamedTuple):
    """A committed offset: that of the next record to read.

    leader_epoch: of the last record read (KIP-320), -1 when not known. metadata: a text of the application.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int = -1
