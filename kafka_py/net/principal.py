"""The principal of a connection."""

from typing import NamedTuple


class Principal(NamedTuple):
    """A kind and a name, as ACLs and logs write it: `User:alice`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
"""Everyone on a listener without authentication."""
