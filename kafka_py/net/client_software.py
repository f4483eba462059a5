"""What a client says of itself (KIP-511): the first of its ApiVersions requests counts."""

from __future__ import annotations

from typing import NamedTuple


class ClientSoftware(NamedTuple):
    """What a client says it is (KIP-511)."""

    name: str = "unknown"
    version: str = "unknown"


UNKNOWN_SOFTWARE = ClientSoftware()
